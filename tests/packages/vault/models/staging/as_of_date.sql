select date '2026-03-01' as as_of_date
union all
select date '2026-03-02' as as_of_date
