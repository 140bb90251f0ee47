"""How a claimed version becomes visible, and who may finish it: compare-and-swap, leases, roll-forward."""
