from __future__ import annotations
from typing import Any

class TestFirst:
    def test_timestamp(self, snapshot: Any) -> None:
        snapshot.configure(unique_key='id', strategy='timestamp', updated_at='ts', hard_deletes='invalidate')
        c="id int, name string, ts timestamp"
        snapshot.source(c, ["1,'a',timestamp'2024-01-01 00:00:00'","2,'b',timestamp'2024-01-01 00:00:00'","3,'c',timestamp'2024-01-01 00:00:00'"])
        r=snapshot.run(); print(r.message, r.adapter_response)
        print(snapshot.rows())
        snapshot.source(c, ["1,'a2',timestamp'2024-01-02 00:00:00'","2,'b',timestamp'2024-01-01 00:00:00'","4,'d',timestamp'2024-01-01 00:00:00'"])
        r=snapshot.run(); print(r.message, r.adapter_response)
        for x in snapshot.rows(): print(x)
        r=snapshot.run(); print(r.message, r.adapter_response)
        snapshot.source(c, ["1,'a2',timestamp'2024-01-02 00:00:00'","3,'c',timestamp'2024-01-01 00:00:00'","4,'d',timestamp'2024-01-01 00:00:00'"])
        r=snapshot.run(); print(r.message, r.adapter_response)
        for x in snapshot.rows(): print(x)
        snapshot.assert_sound()
        assert 0
    def test_check(self, snapshot: Any) -> None:
        snapshot.configure(unique_key=['Id','k2'], strategy='check', check_cols='all', hard_deletes='new_record', dbt_valid_to_current="date('9999-12-31')")
        c="Id int, k2 string, Name string, m map<string,int>"
        snapshot.source(c, ["1,'x','a',map('a',1)","2,'y',null,map('a',1)","3,'z','c',null"])
        r=snapshot.run(); print(r.message, r.adapter_response)
        r=snapshot.run(); print(r.message, r.adapter_response)
        snapshot.source(c, ["1,'x','a',map('b',1)","2,'y','b',map('a',1)","4,'z','d',null"])
        r=snapshot.run(); print(r.message, r.adapter_response)
        for x in snapshot.rows(): print(x)
        r=snapshot.run(); print(r.message, r.adapter_response)
        snapshot.source(c, ["1,'x','a',map('b',1)","2,'y','b',map('a',1)","3,'z','c',null"])
        r=snapshot.run(); print(r.message, r.adapter_response)
        for x in snapshot.rows(): print(x)
        snapshot.assert_sound("id, k2", "date('9999-12-31')")
        assert 0
