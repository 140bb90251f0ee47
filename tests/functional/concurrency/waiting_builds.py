"""Models that publish after their tests, and what readers see of them."""

MASTER = """
{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id', publish='after_tests') }}
select id, {{ var('day') }} as day from range(100)
"""
COPY = """
{{ config(materialized='table', publish='after_tests') }}
select * from {{ ref('master') }}
"""
#: Begins when both of them are staged, and never ends.
LAST = """
{{ config(materialized='table', publish='after_tests') }}
select count(distinct m.id * a.id * b.id) as pairs from {{ ref('copied') }} as m
cross join range({{ var('most', 1) }}) as a
cross join range({{ var('most', 1) }}) as b
"""
DAYS = "select distinct day from {{ ref('master') }} union all select distinct day from {{ ref('copied') }}"
