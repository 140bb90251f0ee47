"""Faults that are put back into the code, one at a time, to see that the simulator finds them.

A fault is a piece of a module's text and what stands in its place; a text that is not there any more is an error.
"""

from __future__ import annotations

from simulation.faults_of_answers import OF_ANSWERS
from simulation.faults_of_calls import OF_CALLS
from simulation.faults_of_refusals import OF_REFUSALS
from simulation.faults_on_read import ON_READ
from simulation.mutant import Mutant
from simulation.seeds import CONDITIONAL, FORKING, GROUPS, NARROW, RARE, RESTORING, SLEPT, STAGED

MUTANTS = {
    # faults that there were once
    "ledger-unread": Mutant(
        "a merge does not see that another has changed the ledger that it read",
        "kernel.commit.reads",
        "            _overlap(names, later.side_data_touched[kind])\n",
        "            False\n",
    ),
    "batch-twice": Mutant(
        "a batch whose reply was lost is committed again",
        "writer.writer",
        "            raise _AlreadyCommitted\n",
        "            return\n",
    ),
    "rebuild-unfenced": Mutant(
        "a row that is made anew takes the place of whatever there is by then",
        "kernel.protocol.rebuild",
        "        self._versions.compare_and_swap(\n            name,\n            manifest.table_id,\n"
        "            claim,\n"
        '            {VERSION: f"{claim}:replaced"},\n'
        "            lambda table: moved(replace(table, name=aside), empty),\n        )\n",
        "        table = self._metastore.get_table(name)\n"
        "        if table is not None:\n"
        "            self._metastore.alter_table(name, moved(replace(table, name=aside), empty))\n",
        first=SLEPT,
    ),
    "vacuum-by-writers-clock": Mutant(
        "vacuum goes by the time that the writer has put into the manifest",
        "kernel.maintenance.vacuum",
        "        hidden_since, settled_by = settled_by, float(written.get(manifest.txn, 0))\n",
        "        hidden_since = datetime.datetime.fromisoformat(manifest.committed_at).timestamp() * 1000\n",
    ),
    # guards of the protocol, each left out
    "claim-without-compare": Mutant(
        "a claim does not compare",
        "kernel.protocol.versions",
        "            self._metastore.alter_table(name, row, expected=expected)\n            return\n",
        "            self._metastore.alter_table(name, row)\n            return\n",
    ),
    "conflicts-unchecked": Mutant(
        "what other commits have changed since is not looked at",
        "kernel.commit.table_commit",
        "            if hangs_on and (meets or not",
        "            if hangs_on and (False or not",
    ),
    "swap-unfenced": Mutant(
        "a writer does not look whether the claim is still its own before it moves partitions",
        "kernel.protocol.swaps",
        "        return send_all(left, move, holds, partial",
        "        return send_all(left, move, lambda: True, partial",
    ),
    "late-swap-unmended": Mutant(
        "a swap that came too late is not put right",
        "kernel.protocol.roll_forward",
        "        if not in_time:\n            self._mend(name, layout, manifest)\n",
        "",
    ),
    "lost-reply-is-failure": Mutant(
        "a claim whose reply was lost counts as lost",
        "kernel.commit.committer",
        "            advanced = versions.compare_and_swap(\n"
        "                part.row, table_id, part.expected, parameters, change, part.seen\n            )\n"
        "        except (Refused, ClaimHeld):\n            commit.in_doubt = False\n            raise\n"
        "        if not advanced and not self._in_history(table):\n",
        "            from lakemerge.kernel.ports.metastore import ReplyLost\n"
        "            from lakemerge.kernel.table.definition import with_parameters\n"
        "            row = with_parameters(change(self._metastore.get_table(part.row)), parameters)\n"
        "            self._metastore.alter_table(part.row, row, expected=(VERSION, part.expected))\n"
        "        except (ReplyLost, Refused):\n",
    ),
    "abort-in-doubt": Mutant(
        "the files of a commit in doubt are deleted",
        "kernel.commit.transaction",
        '            _end(transactions, "in doubt")\n',
        "            pass\n",
    ),
    "vacuum-ignores-writers": Mutant(
        "vacuum takes what open transactions have staged for garbage",
        "kernel.maintenance.idle",
        "                folder: [entry for entry in entries if txn_of(entry) not in at_work]\n",
        "                folder: list(entries)\n",
        first=NARROW,
    ),
    "half-seen-rows": Mutant(
        "a row that was half seen is believed",
        "kernel.table.state",
        "        if agrees or _fits(current):\n",
        "        if current:\n",
    ),
    "half-seen-written": Mutant(
        "a row that was half seen is written back",
        "kernel.protocol.versions",
        "        while (row := self._metastore.get_table(name)) != seen:\n            seen = row\n        return row\n",
        "        return self._metastore.get_table(name)\n",
        first=3_000_000,
    ),
    "drop-what-others-made": Mutant(
        "partitions that a commit removes are dropped wherever they point to by then",
        "kernel.protocol.swaps",
        "for row in rows if _is_empty(row, layout, manifest)]\n\n        if found",
        "for row in rows]\n\n        holds = lambda: True\n        if found",
    ),
    "registered-with-rows": Mutant(
        "new partitions are registered where their rows are, before the swap",
        "kernel.protocol.swaps",
        "        fresh = {part: new_partition(table, partition_values(part), empty) for part in manifest.written}\n",
        "        fresh = dict(zip(manifest.written, self.rows(table, layout, manifest, manifest.written)))\n",
    ),
    "requirements-unchecked": Mutant(
        "what a commit requires of the version before it is not asked",
        "kernel.commit.committer",
        "        for check in commit.requirements:\n            check(parent)\n",
        "",
    ),
    "dead-or-alive": Mutant(
        "a writer that waits for its own lease is taken for alive for ever",
        "kernel.protocol.lease",
        "        return self._age(layout, txn, now) <= lease_seconds\n",
        "        return True\n",
    ),
    "settled-unseen": Mutant(
        "a claim is settled before its partitions are moved",
        "kernel.protocol.roll_forward",
        "        added = adds and self.swaps.add(table, layout, manifest, holds)\n",
        "        self._settle(table, layout, manifest)\n"
        "        added = adds and self.swaps.add(table, layout, manifest, holds)\n",
    ),
    "base-manifest": Mutant(
        "a commit writes the state of the version that it began on, not of the newest",
        "kernel.commit.table_commit",
        "        draft = Draft(parent, self.base, present)\n",
        "        draft = Draft(self.base or parent, self.base, present)\n",
    ),
    "rows-counted-twice": Mutant(
        "a commit that replaces all rows of an unpartitioned table adds its number of rows to what others have counted",
        "kernel.commit.table_commit",
        "None if replaced_whole else draft.kept)",
        "draft.kept)",
    ),
    "state-not-kept": Mutant(
        "vacuum deletes manifests that a version which it keeps is the difference to",
        "kernel.maintenance.vacuum",
        "    _keep_states(kernel, versions.state.layout, _remaining(versions, garbage))\n",
        "",
    ),
    "removed-comes-back": Mutant(
        "a partition that a commit has removed is there again for who reads differences",
        "kernel.table.manifests",
        "                states.pop(name, None)\n",
        "                pass\n",
    ),
    "vacuum-unfenced": Mutant(
        "a writer whose files vacuum has deleted claims all the same",
        "kernel.commit.table_commit",
        "        if self.txn in step.fenced:\n",
        "        if False:\n",
    ),
    "resent-blindly": Mutant(
        "a swap whose answer is lost is sent again without a look whether the claim is still the writer's own",
        "kernel.protocol.swaps",
        "        return send_all(left, move, holds, partial",
        "        unasked = [1]\n"
        "        return send_all(left, move, lambda: holds() if unasked and unasked.pop() else True, partial",
    ),
    "mended-once": Mutant(
        "a swap that came too late is put right once, and nobody looks whether that came too late as well",
        "kernel.protocol.roll_forward",
        "            if self.repairs.is_at(state):\n                return\n",
        "            return\n",
        first=RARE,
    ),
    "repair-unfenced": Mutant(
        "partitions are put right to a version without a look whether it is still the newest",
        "kernel.protocol.repairs",
        "        name, unmoved = state.table.name, partial(self.is_at, state)\n",
        "        name, unmoved = state.table.name, lambda: True\n",
    ),
    "late-drop": Mutant(
        "a swap that came too late drops the partitions that it has emptied",
        "kernel.protocol.swaps",
        "            send_all(left, drop, holds, partial",
        "            send_all(left, drop, lambda: True, partial",
    ),
    # of tables that are dropped and made again
    "next-tables-version": Mutant(
        "a claim compares the version alone, which the next table of the name has as well",
        "kernel.table.definition",
        '    return f"{version}@{table_id[:_DIGITS_OF_ID]}"\n',
        "    return str(version)\n",
        first=GROUPS,
    ),
    # of commits of several tables
    "group-decided-early": Mutant(
        "a group is decided before its last table is claimed",
        "kernel.commit.group_claims",
        "            for number, part in enumerate(prepared):\n",
        "            for number, part in list(enumerate(prepared))[:-1]:\n",
        first=GROUPS,
    ),
    "group-settled-early": Mutant(
        "the first table of a group is settled before the others' claims are confirmed",
        "kernel.protocol.roll_forward",
        "        if self.groups.confirm_others(layout, manifest):\n",
        "        if False:\n",
        first=GROUPS,
    ),
    "group-decision-unasked": Mutant(
        "a writer takes its group for decided without a look at what has become of it",
        "kernel.commit.group_claims",
        "        if confirmed or self._stands(table) or groups.has_confirmed(members):\n",
        "        if True:\n",
        first=GROUPS,
    ),
    "group-released-when-decided": Mutant(
        "a claim is released although its group is decided",
        "kernel.protocol.groups",
        "        return status is GroupStatus.DECIDED\n",
        "        return False\n",
        first=GROUPS,
    ),
    "group-released-not-ended": Mutant(
        "a claim of a dead writer is released, and its group may still be decided",
        "kernel.tables",
        "            self.releases.end(group)\n",
        "            self.releases.give_up((own,))\n",
        first=GROUPS,
    ),
    "group-read-early": Mutant(
        "a pinned read of several tables takes claims for commits that are not decided",
        "kernel.maintenance.instant",
        "    if state.claim is not None and (not state.undecided or _is_decided(kernel, state, marks)):\n",
        "    if state.claim is not None:\n",
        first=GROUPS,
    ),
    "group-looked-at-once": Mutant(
        "a pinned read of several tables looks at them one after the other, and not again",
        "kernel.maintenance.instant",
        "    for name in list(marks):\n",
        "    for name in ():\n",
        first=GROUPS,
    ),
    "group-in-any-order": Mutant(
        "groups claim tables in the order in which they were given",
        "kernel.commit.group_claims",
        "    return sorted(tables, key=lambda table: (table.base is None, table.table))\n",
        "    return list(tables)\n",
        first=GROUPS,
    ),
    "group-forgotten": Mutant(
        "who gives a group up deletes what others need to find out about its claims",
        "kernel.commit.transaction",
        "        if not self._commit.claim_sent:\n",
        "        if True:\n",
        first=GROUPS,
    ),
    "group-blind-to-views": Mutant(
        "a group does not find the row of a table that has a view in its place",
        "kernel.protocol.groups",
        "        row = find_row(self._metastore, member.table)\n",
        "        row = self._metastore.get_table(member.table)\n",
        first=GROUPS,
    ),
    # of statements
    "new-partitions-unseen": Mutant(
        "a DELETE leaves rows that another commit has copied from those it deletes to a new partition",
        "kernel.commit.reads",
        "        if self.known is not None and ",
        "        if False and ",
        first=CONDITIONAL,
    ),
    # of commits that wait to be published
    "staged-on-other-rows": Mutant(
        "what waits to be published follows on commits that have changed other rows of its tables",
        "kernel.commit.suspension",
        "    transaction.follow_same_rows()\n",
        "    pass\n",
        first=STAGED,
    ),
    # of ingests
    "ledger-of-files-unread": Mutant(
        "a run commits files that another has read meanwhile",
        "kernel.commit.draft",
        '        if (mode == "set" and self._base and now != before) or (\n',
        "        if False or (\n",
    ),
    # of consumers
    "pin-by-readers-clock": Mutant(
        "whether a pin has expired goes by the clock of who vacuums",
        "kernel.maintenance.vacuum",
        "kernel.files, versions.state.layout, from_milliseconds(now)),\n",
        "kernel.files, versions.state.layout, kernel.clock.now()),\n",
    ),
    "progress-apart": Mutant(
        "what a consumer has processed is not part of its output's commit",
        "consumer.batch",
        "        write_progress(kernel, transaction, {batch.key: batch.progress_after for batch in taken})\n",
        "        pass\n",
    ),
    "consumer-unchecked": Mutant(
        "a run commits partitions that another run has taken meanwhile",
        "consumer.batch",
        "        transaction.require(batch.check)\n",
        "        pass\n",
    ),
    "compaction-is-news": Mutant(
        "a consumer takes rows that a compaction has moved for new ones",
        "consumer.sources",
        "        if manifest.only_moves_rows:\n",
        "        if False:\n",
    ),
    "heartbeat-for-ever": Mutant(
        "a run that ends while no metastore answers keeps its heartbeat, and so its partitions",
        "consumer.working_set",
        "    @cached_property\n    def layout",
        "    @property\n    def layout",
    ),
    # faults that there were once, of tables that come and go
    "placed-too-late": Mutant(
        "a row that is made anew when the work is over takes the table's name",
        "kernel.protocol.rebuild",
        "        return self._metastore.get_table(aside) is None\n",
        "        return False\n",
        first=SLEPT,
    ),
    "dropped-adopted": Mutant(
        "a table that is adopted after its drop has died is taken for the next of its name",
        "kernel.protocol.drops",
        "        return self.created in (0, made_at(table))\n",
        "        return False\n",
        first=RARE,
    ),
    "list-taken-away": Mutant(
        "a drop takes away its list, which another that has seen the table adopted needs by then",
        "kernel.protocol.drops",
        "        if found is not None and not left.are_of(found):\n",
        "        if found is not None:\n",
        first=RARE,
    ),
    "aside-too-soon": Mutant(
        "the old row moves aside although the call that makes the new one had no answer",
        "kernel.protocol.rebuild",
        "            if self._metastore.get_table(fresh) is not None:",
        "            if True:",
        first=NARROW,
    ),
    "creation-unfenced": Mutant(
        "who makes a table does not look whether its files were deleted while it slept",
        "kernel.protocol.creations",
        "        return self._files.exists(layout.creation_of(txn))\n",
        "        return True\n",
        first=RARE,
    ),
    # of compactions
    "overtaken-part-stays": Mutant(
        "a compaction keeps a partition that another commit has changed since",
        "kernel.commit.table_commit",
        "        self.updates = [update.without(gone) for update in self.updates]\n",
        "",
    ),
    "half-a-unit": Mutant(
        "of partitions that become one, only the one that another commit has changed is left out",
        "kernel.commit.table_commit",
        "        gone = frozenset().union(*(unit.partitions for unit in hit))\n",
        "        gone = frozenset(names)\n",
        first=NARROW,
    ),
    **ON_READ,
    **OF_ANSWERS,
    **OF_CALLS,
    **OF_REFUSALS,
    # of forked processes
    "parents-transaction": Mutant(
        "a forked child ends and commits what its parent has begun",
        "kernel.commit.transaction",
        'return self._state if self._tables.host.pid == self._pid else "another process\'s"',
        "return self._state",
        first=FORKING,
    ),
    "parents-heartbeats": Mutant(
        "a forked child goes on as if it had its parent's threads, which keep transactions alive",
        "kernel.protocol.lease",
        "        if self._host.pid != self._pid:\n            self._begin()\n",
        "",
        first=FORKING,
    ),
    # of other programs, and of metastores that do not compare
    "late-unlooked": Mutant(
        "nobody looks into superseded directories for what other programs have written there meanwhile",
        "kernel.external.late",
        "                found.append((place, whole))\n",
        "                pass\n",
    ),
    "originals-unlooked": Mutant(
        "vacuum does not look into the directories of before the adoption",
        "kernel.maintenance.garbage",
        "[*originals, *kept]\n",
        "kept\n",
        first=RARE,
    ),
    "forgotten-too-soon": Mutant(
        "vacuum deletes what tells a directory's late files from its own before it deletes the directory",
        "kernel.maintenance.garbage",
        "entry.name in in_chain or any(below(entry.path))\n",
        "entry.name in in_chain\n",
        first=27920234,
    ),
    "recorded-too-soon": Mutant(
        "vacuum takes the record of a group whose manifests are young for one of nobody",
        "kernel.maintenance.garbage",
        "(entry.modified if txn in committed else idle.last_written(txn)) <= oldest\n",
        "entry.modified <= oldest\n",
        first=47955143,
    ),
    "undone-undone": Mutant(
        "what undoes a claim is undone itself, and no version says that the claim was undone",
        "kernel.protocol.releases",
        "        if claimed.operation == RELEASE:\n",
        "        if False:\n",
        first=122937054,
    ),
    "adopted-and-made-anew": Mutant(
        "a table that is adopted, and whose row is made anew, is taken for the next of its name by a drop",
        "kernel.table.definition",
        "    return int(adopted) if adopted.isdigit() else table.created\n",
        "    return table.created\n",
        first=102920037,
    ),
    "looked-at-once": Mutant(
        "the files that were read are not looked at again before the claim",
        "kernel.commit.committer",
        "        if not commit.reads.has_partitions or now < commit.looked_at + _LOOK_SECONDS:\n",
        "        if True:\n",
    ),
    "late-copied": Mutant(
        "files that came late are copied to where the partition is now, not moved",
        "kernel.external.late",
        "                self._files.move(entry.path,",
        "                self._files.copy(entry.path,",
    ),
    "foreign-unseen": Mutant(
        "partitions that another program has moved are not taken in",
        "kernel.external.changes",
        "if manifest.partitions.get(name) != state}",
        "if name not in manifest.partitions}",
    ),
    "adopted-blindly": Mutant(
        "a plain table is adopted without a comparison, by two writers at once",
        "kernel.protocol.versions",
        "            self.alter(name, changed, (DDL_TIME, before))\n",
        "            self._metastore.alter_table(name, changed)\n",
    ),
    "restore-unseen": Mutant(
        "a restore counts as a commit that only moves rows, which consumers of changes leave out",
        "kernel.commit.reads",
        "    moves = not later.touched or later.only_moves_rows\n",
        '    moves = not later.touched or later.only_moves_rows or later.operation == "restore"\n',
        first=RESTORING,
    ),
    "lockless": Mutant(
        "a metastore that does not compare is written without its lock",
        "kernel.protocol.versions",
        "        with self._table_lock(name, _Write.of(name, row)):\n",
        "        if True:\n",
    ),
}
