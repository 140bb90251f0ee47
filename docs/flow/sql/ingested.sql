-- run 1

select
    `id`,
    `name`,
    `day`,
    _lakemerge_ok,
    if(_lakemerge_ok, null, _lakemerge_file) as _lakemerge_bad_file,
    if(_lakemerge_ok, null, xxhash64(_lakemerge_raw) & 65535) as _lakemerge_bad_mark
from (
    select
        *,
        coalesce((not contains(concat_ws('', `_lakemerge_field_name`), '�') or is_valid_utf8(_lakemerge_raw))
        and (not contains(_lakemerge_raw, chr(0)))
        and (_lakemerge_well_formed)
        and (size(_lakemerge_tokens) >= 3)
        and (size(_lakemerge_tokens) <= 3)
        and (`_lakemerge_field_id` is null or (`id` is not null and `_lakemerge_field_id` >= '!' and right(`_lakemerge_field_id`, 1) >= '!'))
        and (`_lakemerge_field_day` is null or (`day` is not null and `_lakemerge_field_day` rlike '^(?!0000|1582-10-(?:0[5-9]|1[0-4]))....-..-.[0-9]\\z'))
        and (not coalesce(`id` is null, false)), false) as _lakemerge_ok
    from (
        select
            try_cast(`_lakemerge_field_id` as bigint) as `id`,
            `_lakemerge_field_name` as `name`,
            try_cast(`_lakemerge_field_day` as date) as `day`,
            *
        from (
            select
                if(_lakemerge_plain, nullif(get(_lakemerge_tokens, 0), '\\N'), get(_lakemerge_tokens, 0)) as `_lakemerge_field_id`,
                if(_lakemerge_plain, nullif(get(_lakemerge_tokens, 1), '\\N'), get(_lakemerge_tokens, 1)) as `_lakemerge_field_name`,
                if(_lakemerge_plain, nullif(get(_lakemerge_tokens, 2), '\\N'), get(_lakemerge_tokens, 2)) as `_lakemerge_field_day`,
                *
            from (
                select
                    *,
                    if(_lakemerge_plain, split(_lakemerge_raw, ',', -1), transform(
                        regexp_extract_all(concat(',', _lakemerge_raw), ',("[^"]*(?:(?:"")[^"]*)*+"|[^,"]*)', 1),
                        token -> case
                        when token = '\\N' then null
                        when startswith(token, '"') then replace(substr(token, 2, length(token) - 2), '""', '"')
                        else token
                    end
                    )) as _lakemerge_tokens,
                    _lakemerge_plain or concat(',', _lakemerge_raw) rlike '(?s)^(?:,(?:"[^"]*(?:(?:"")[^"]*)*+"|[^,"]*))++\\z' as _lakemerge_well_formed
                from (
                    select
                        *,
                        not contains(_lakemerge_raw, '"') as _lakemerge_plain
                    from lakemerge_lines_0
                )
            )
        )
    )
)
;

select /*+ coalesce(1) */ *
from (
    select
        cast(`id` as bigint) as `id`,
        cast(`name` as string) as `name`,
        cast(`day` as date) as `day`,
        cast(null as bigint) as `_commit`
    from lakemerge_records
    where _lakemerge_ok
)
;

-- version 1: ingest, {"backlog": 0, "changed": 0, "files": 1, "inserted": 1}
-- columns: id bigint, name string, day date, _commit bigint
-- partitions: _commit=1
-- side data: files

-- run 2

select
    `id`,
    `name`,
    `day`,
    _lakemerge_ok,
    if(_lakemerge_ok, null, _lakemerge_file) as _lakemerge_bad_file,
    if(_lakemerge_ok, null, xxhash64(_lakemerge_raw) & 65535) as _lakemerge_bad_mark
from (
    select
        *,
        coalesce((not contains(concat_ws('', `_lakemerge_field_name`), '�') or is_valid_utf8(_lakemerge_raw))
        and (not contains(_lakemerge_raw, chr(0)))
        and (_lakemerge_well_formed)
        and (size(_lakemerge_tokens) >= 3)
        and (size(_lakemerge_tokens) <= 3)
        and (`_lakemerge_field_id` is null or (`id` is not null and `_lakemerge_field_id` >= '!' and right(`_lakemerge_field_id`, 1) >= '!'))
        and (`_lakemerge_field_day` is null or (`day` is not null and `_lakemerge_field_day` rlike '^(?!0000|1582-10-(?:0[5-9]|1[0-4]))....-..-.[0-9]\\z'))
        and (not coalesce(`id` is null, false)), false) as _lakemerge_ok
    from (
        select
            try_cast(`_lakemerge_field_id` as bigint) as `id`,
            `_lakemerge_field_name` as `name`,
            try_cast(`_lakemerge_field_day` as date) as `day`,
            *
        from (
            select
                if(_lakemerge_plain, nullif(get(_lakemerge_tokens, 0), '\\N'), get(_lakemerge_tokens, 0)) as `_lakemerge_field_id`,
                if(_lakemerge_plain, nullif(get(_lakemerge_tokens, 1), '\\N'), get(_lakemerge_tokens, 1)) as `_lakemerge_field_name`,
                if(_lakemerge_plain, nullif(get(_lakemerge_tokens, 2), '\\N'), get(_lakemerge_tokens, 2)) as `_lakemerge_field_day`,
                *
            from (
                select
                    *,
                    if(_lakemerge_plain, split(_lakemerge_raw, ',', -1), transform(
                        regexp_extract_all(concat(',', _lakemerge_raw), ',("[^"]*(?:(?:"")[^"]*)*+"|[^,"]*)', 1),
                        token -> case
                        when token = '\\N' then null
                        when startswith(token, '"') then replace(substr(token, 2, length(token) - 2), '""', '"')
                        else token
                    end
                    )) as _lakemerge_tokens,
                    _lakemerge_plain or concat(',', _lakemerge_raw) rlike '(?s)^(?:,(?:"[^"]*(?:(?:"")[^"]*)*+"|[^,"]*))++\\z' as _lakemerge_well_formed
                from (
                    select
                        *,
                        not contains(_lakemerge_raw, '"') as _lakemerge_plain
                    from lakemerge_lines_0
                )
            )
        )
    )
)
;

select /*+ coalesce(1) */ *
from (
    select
        cast(`id` as bigint) as `id`,
        cast(`name` as string) as `name`,
        cast(`day` as date) as `day`,
        cast(null as bigint) as `_commit`
    from lakemerge_records
    where _lakemerge_ok
)
;

select
    record,
    record_bytes,
    file,
    line,
    problems[0].reason as reason,
    problems[0].column_name as column_name,
    problems[0].reason_text as reason_text,
    problems,
    fields,
    file_modified,
    batch,
    quarantined_at,
    replays
from (
    select
        make_valid_utf8(_lakemerge_raw) as record,
        if(cast(make_valid_utf8(_lakemerge_raw) as binary) = cast(_lakemerge_raw as binary), null, cast(_lakemerge_raw as binary)) as record_bytes,
        _lakemerge_file as file,
        _lakemerge_line as line,
        case
            when not coalesce(is_valid_utf8(_lakemerge_raw), false) then array(named_struct('reason', 'bad_encoding', 'column_name', cast(null as string), 'reason_text', 'its bytes are not UTF-8'))
            when not coalesce(not contains(_lakemerge_raw, chr(0)), false) then array(named_struct('reason', 'bad_encoding', 'column_name', cast(null as string), 'reason_text', 'it holds NUL characters, as text in UTF-16 does; nul_characters: accept takes them'))
            when not coalesce(_lakemerge_well_formed, false) then array(named_struct('reason', 'malformed_quotes', 'column_name', cast(null as string), 'reason_text', 'a quoted field is not closed before the delimiter, or a quote stands in one that is not quoted'))
            when not coalesce(size(_lakemerge_tokens) >= 3, false) then array(named_struct('reason', 'missing_field', 'column_name', cast(null as string), 'reason_text', concat('expected 3 fields, found ', size(_lakemerge_tokens))))
            when not coalesce(size(_lakemerge_tokens) <= 3, false) then array(named_struct('reason', 'extra_field', 'column_name', cast(null as string), 'reason_text', concat('expected 3 fields, found ', size(_lakemerge_tokens))))
            else array_compact(array(
                if(coalesce(`_lakemerge_field_id` is null or (`id` is not null and `_lakemerge_field_id` >= '!' and right(`_lakemerge_field_id`, 1) >= '!'), false), null, named_struct('reason', if(`_lakemerge_field_id` rlike '^[+-]?[0-9]+$', 'overflow', 'malformed_value'), 'column_name', cast('id' as string), 'reason_text', concat(
                'expected bigint',
                ', found ', left(concat('"', `_lakemerge_field_id`, '"'), 100)
            ))),
                if(coalesce(`_lakemerge_field_day` is null or (`day` is not null and `_lakemerge_field_day` rlike '^(?!0000|1582-10-(?:0[5-9]|1[0-4]))....-..-.[0-9]\\z'), false), null, named_struct('reason', 'bad_date', 'column_name', cast('day' as string), 'reason_text', concat(
                'expected date',
                if((`day` is null or `day` between date '0001-01-01' and date '9999-12-31' and `day` not between date '1582-10-05' and date '1582-10-14'), '', ' that the table can hold'),
                ', found ', left(concat('"', `_lakemerge_field_day`, '"'), 100)
            ))),
                if(coalesce(`id` is null, false), named_struct('reason', 'constraint_violated', 'column_name', cast(null as string), 'reason_text', 'not_null_id'), null),
                cast(null as struct<reason: string, column_name: string, reason_text: string>)
            ))
        end as problems,
        cast(array('id', 'name', 'day') as array<string>) as fields,
        _lakemerge_file_modified as file_modified,
        _lakemerge_batch as batch,
        _lakemerge_ingested_at as quarantined_at,
        _lakemerge_replays as replays
    from (
        select
            *
        from (
            select
                *,
                coalesce((not contains(concat_ws('', `_lakemerge_field_name`), '�') or is_valid_utf8(_lakemerge_raw))
                and (not contains(_lakemerge_raw, chr(0)))
                and (_lakemerge_well_formed)
                and (size(_lakemerge_tokens) >= 3)
                and (size(_lakemerge_tokens) <= 3)
                and (`_lakemerge_field_id` is null or (`id` is not null and `_lakemerge_field_id` >= '!' and right(`_lakemerge_field_id`, 1) >= '!'))
                and (`_lakemerge_field_day` is null or (`day` is not null and `_lakemerge_field_day` rlike '^(?!0000|1582-10-(?:0[5-9]|1[0-4]))....-..-.[0-9]\\z'))
                and (not coalesce(`id` is null, false)), false) as _lakemerge_ok
            from (
                select
                    try_cast(`_lakemerge_field_id` as bigint) as `id`,
                    `_lakemerge_field_name` as `name`,
                    try_cast(`_lakemerge_field_day` as date) as `day`,
                    *
                from (
                    select
                        if(_lakemerge_plain, nullif(get(_lakemerge_tokens, 0), '\\N'), get(_lakemerge_tokens, 0)) as `_lakemerge_field_id`,
                        if(_lakemerge_plain, nullif(get(_lakemerge_tokens, 1), '\\N'), get(_lakemerge_tokens, 1)) as `_lakemerge_field_name`,
                        if(_lakemerge_plain, nullif(get(_lakemerge_tokens, 2), '\\N'), get(_lakemerge_tokens, 2)) as `_lakemerge_field_day`,
                        *
                    from (
                        select
                            *,
                            if(_lakemerge_plain, split(_lakemerge_raw, ',', -1), transform(
                                regexp_extract_all(concat(',', _lakemerge_raw), ',("[^"]*(?:(?:"")[^"]*)*+"|[^,"]*)', 1),
                                token -> case
                                when token = '\\N' then null
                                when startswith(token, '"') then replace(substr(token, 2, length(token) - 2), '""', '"')
                                else token
                            end
                            )) as _lakemerge_tokens,
                            _lakemerge_plain or concat(',', _lakemerge_raw) rlike '(?s)^(?:,(?:"[^"]*(?:(?:"")[^"]*)*+"|[^,"]*))++\\z' as _lakemerge_well_formed
                        from (
                            select
                                *,
                                not contains(_lakemerge_raw, '"') as _lakemerge_plain
                            from lakemerge_lines_0_marked
                        )
                    )
                )
            )
        )
        where not _lakemerge_ok
    )

)
;

create or replace view shop.ingested__quarantine_by_reason as
select
    reason,
    column_name,
    count(*) as records,
    count(distinct file) as files,
    min(batch) as first_batch,
    max(batch) as last_batch,
    max(replays) as most_replays,
    min(reason_text) as example
from shop.ingested__quarantine
group by reason, column_name
;

-- version 2: ingest, {"backlog": 0, "changed": 0, "files": 1, "inserted": 1, "quarantined": 1}
-- columns: id bigint, name string, day date, _commit bigint
-- partitions: _commit=1, _commit=2
-- side data: files, quarantine
