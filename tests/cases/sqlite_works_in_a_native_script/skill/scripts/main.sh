sqlite3 data.db 'create table t(a); insert into t values (1), (2); select sum(a) from t;'
