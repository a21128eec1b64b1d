-- Which database this is, and whether this role may write our tables. A server's name or address says
-- little (sockets, poolers), its system identifier is shared by every copy of it; when it was started is not. Asked by
-- functions, which see what is there now, whatever the age of the caller's snapshot.
SELECT floor(extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint,
       (SELECT oid FROM pg_database WHERE datname = current_database())::bigint,
       CASE WHEN coalesce(has_schema_privilege(to_regnamespace(quote_ident(:schema::text))::oid, 'USAGE'), false)
            THEN coalesce(has_table_privilege(to_regclass(quote_ident(:schema::text) || '.job')::oid, 'INSERT'), false)
            ELSE false END
