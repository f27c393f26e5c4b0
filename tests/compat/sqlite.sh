#!/bin/bash
# sqlite.sh - sqlite3: a WAL database in the workspace, written by two at once, larger than its cache.
. "$(dirname "$0")/compat.sh"
need sqlite3

does "a WAL database" 'sqlite3 a.db "pragma journal_mode=wal; create table t (x integer primary key, y text); insert into t select value, hex(randomblob(100)) from generate_series(1, 20000)" | grep -qx wal'
is "it is whole, seen from outside" "$(outside sqlite3 "$w/a.db" 'pragma integrity_check; select count(*) from t')" "ok
20000"
does "two writers at once wait for each other" 'for i in 1 2; do (for n in $(seq 30); do sqlite3 -cmd ".timeout 10000" a.db "insert into t (y) values (\"w\")"; done) & done; wait; test "$(sqlite3 a.db "select count(*) from t where y = \"w\"")" = 60'
does "sorting with temporary files, vacuum, backup" 'sqlite3 a.db "pragma temp_store=file; pragma cache_size=10; create index i on t (y); select count(*) from (select y from t order by substr(y, 5)); vacuum; backup main \"b.db\"" >/dev/null 2>&1 || sqlite3 a.db ".backup b.db"; sqlite3 b.db "pragma quick_check" | grep -qx ok'
does "a rollback journal" 'sqlite3 b.db "pragma journal_mode=delete; begin; delete from t; rollback; select count(*) from t" | tail -1 | grep -qx 20060'
does "with exclusive locking, a memory map" 'sqlite3 b.db "pragma mmap_size=100000000; pragma locking_mode=exclusive; update t set y = 1; select count(distinct y) from t" | tail -1 | grep -qx 1'
close
