"""Makes tests/data/parquet: small files of every codec, page version, encoding and nesting, with their rows."""
import sys, os, random, decimal, datetime as dt, io
sys.path.insert(0,os.environ.get("CANON","../shared/tools/peer"))  # canon.py, the canonical text of rows
import canon, pyarrow as pa, pyarrow.parquet as pq, pyarrow.compute as pc
OUT=sys.argv[1]; rnd=random.Random(7)
def maybe(f,p=0.2): return None if rnd.random()<p else f()
def rows_text(t):
    d=[(f.name,canon.from_arrow(f.type)) for f in t.schema]
    return ''.join(canon.dumps({n:canon.value(r[n],ty) for n,ty in d})+'\n' for r in t.to_pylist())
def save(name,t,expect=None,**kw):
    p=f'{OUT}/{name}.parquet'
    kw.setdefault('store_schema',False)
    pq.write_table(t,p,**kw)
    back=pq.ParquetFile(p).read()
    import subprocess; subprocess.run(['zstd','-19','-qfo',f'{OUT}/{name}.expected.jsonl.zst'],input=rows_text(expect if expect is not None else back).encode(),check=True)
def word(): return rnd.choice(['','a','héllo','Größe','x'*rnd.randrange(40),'word%d'%rnd.randrange(30)])
def flat(n,p=0.2):
    D=decimal.Decimal
    return pa.table({
     'b':pa.array([maybe(lambda:rnd.random()<.5,p) for _ in range(n)],pa.bool_()),
     'i8':pa.array([maybe(lambda:rnd.randrange(-128,128),p) for _ in range(n)],pa.int8()),
     'u16':pa.array([maybe(lambda:rnd.randrange(65536),p) for _ in range(n)],pa.uint16()),
     'i32':pa.array([maybe(lambda:rnd.randrange(-2**31,2**31),p) for _ in range(n)],pa.int32()),
     'u32':pa.array([maybe(lambda:rnd.randrange(2**32),p) for _ in range(n)],pa.uint32()),
     'i64':pa.array([maybe(lambda:rnd.randrange(-2**63,2**63),p) for _ in range(n)],pa.int64()),
     'small':pa.array([maybe(lambda:rnd.randrange(5),p) for _ in range(n)],pa.int64()),
     'f':pa.array([maybe(lambda:rnd.uniform(-9,9),p) for _ in range(n)],pa.float32()),
     'd':pa.array([maybe(lambda:rnd.choice([float('nan'),float('inf'),-0.0,rnd.uniform(-9e9,9e9)]),p) for _ in range(n)],pa.float64()),
     's':pa.array([maybe(word,p) for _ in range(n)],pa.string()),
     'bin':pa.array([maybe(lambda:bytes(rnd.randrange(256) for _ in range(rnd.randrange(9))),p) for _ in range(n)],pa.binary()),
     'fx':pa.array([maybe(lambda:bytes(rnd.randrange(256) for _ in range(3)),p) for _ in range(n)],pa.binary(3)),
     'dec5':pa.array([maybe(lambda:D(rnd.randrange(-99999,99999)).scaleb(-2),p) for _ in range(n)],pa.decimal128(5,2)),
     'dec38':pa.array([maybe(lambda:D(rnd.randrange(-10**37,10**37)).scaleb(-10,decimal.Context(prec=60)),p) for _ in range(n)],pa.decimal128(38,10)),
     'day':pa.array([maybe(lambda:dt.date(1970,1,1)+dt.timedelta(rnd.randrange(-9999,9999)),p) for _ in range(n)],pa.date32()),
     'ts':pa.array([maybe(lambda:rnd.randrange(-10**15,10**15),p) for _ in range(n)],pa.timestamp('us','UTC')),
     'local':pa.array([maybe(lambda:rnd.randrange(-10**12,10**12),p) for _ in range(n)],pa.timestamp('ms')),
     't':pa.array([maybe(lambda:rnd.randrange(86400*10**6),p) for _ in range(n)],pa.time64('us')),
    })
def nested(n):
    L=lambda f,k=4,p=.2: maybe(lambda:[f() for _ in range(rnd.randrange(k))],p)
    i=lambda: maybe(lambda:rnd.randrange(1000),.2)
    w=lambda: maybe(word,.2)
    return pa.table({
     'id':pa.array(range(n),pa.int64()),
     'li':pa.array([L(i) for _ in range(n)],pa.list_(pa.int32())),
     'ls':pa.array([L(w) for _ in range(n)],pa.list_(pa.string())),
     'lli':pa.array([L(lambda:L(lambda:L(i,3),3),3) for _ in range(n)],pa.list_(pa.list_(pa.list_(pa.int16())))),
     's':pa.array([maybe(lambda:{'a':i(),'b':w(),'c':maybe(lambda:{'x':maybe(lambda:rnd.random()<.5,.3),'y':L(i,3)},.3)},.2) for _ in range(n)],
        pa.struct([('a',pa.int64()),('b',pa.string()),('c',pa.struct([('x',pa.bool_()),('y',pa.list_(pa.int64()))]))])),
     'm':pa.array([maybe(lambda:[(w2,i()) for w2 in sorted({word() for _ in range(rnd.randrange(4))})],.2) for _ in range(n)],pa.map_(pa.string(),pa.int32())),
     'ms':pa.array([maybe(lambda:[(k,maybe(lambda:{'p':i(),'q':L(w,3)},.2)) for k in range(rnd.randrange(3))],.2) for _ in range(n)],
        pa.map_(pa.int32(),pa.struct([('p',pa.int32()),('q',pa.list_(pa.string()))]))),
     'ld':pa.array([L(lambda:maybe(lambda:decimal.Decimal(rnd.randrange(10**6)).scaleb(-3),.2)) for _ in range(n)],pa.list_(pa.decimal128(9,3))),
    })
f=flat(150)
for c in ['none','snappy','gzip','zstd','lz4','brotli']:
    save('flat_'+c,f.slice(0,60) if c!='none' else f,compression=c,write_page_checksum=True,use_dictionary=(c in('none','zstd')))
save('flat_v2',f.slice(0,100),compression='snappy',data_page_version='2.0',data_page_size=256,write_batch_size=16,write_page_index=True,max_rows_per_page=25)
req=flat(100,0.0)
req=pa.table(req.columns,schema=pa.schema([x.with_nullable(False) for x in req.schema]))
save('required',req,compression='zstd',use_dictionary=['s','small'],data_page_size=200,write_batch_size=10)
enc={'i32':'DELTA_BINARY_PACKED','i64':'DELTA_BINARY_PACKED','small':'DELTA_BINARY_PACKED','u32':'DELTA_BINARY_PACKED','ts':'DELTA_BINARY_PACKED','s':'DELTA_BYTE_ARRAY','bin':'DELTA_LENGTH_BYTE_ARRAY','fx':'DELTA_BYTE_ARRAY',
     'f':'BYTE_STREAM_SPLIT','d':'BYTE_STREAM_SPLIT','dec5':'BYTE_STREAM_SPLIT','b':'RLE','day':'BYTE_STREAM_SPLIT'}
save('encodings',f,compression='none',use_dictionary=False,column_encoding=enc,data_page_size=400,write_batch_size=50)
save('encodings_v2',f,compression='zstd',use_dictionary=False,column_encoding=enc,data_page_version='2.0')
g=nested(120)
save('nested',g,compression='zstd',data_page_size=200,write_batch_size=20)
save('nested_v2',g,compression='none',data_page_version='2.0',data_page_size=150,write_batch_size=10,write_page_index=True)
save('nested_plain',g,compression='snappy',use_dictionary=False,row_group_size=50)
save('legacy_lists',g.select(['li','ls','lli']),compression='none',use_compliant_nested_type=False)
sd=pa.table({'dec':f['dec5'],'dec18':pa.array([maybe(lambda:decimal.Decimal(rnd.randrange(-10**17,10**17)).scaleb(-4)) for _ in range(150)],pa.decimal128(18,4))})
save('decimal_integers',sd,compression='none',store_decimal_as_integer=True)
ts=pa.table({'t96':pa.array([maybe(lambda:rnd.randrange(-2*10**15,2*10**15)) for _ in range(50)],pa.timestamp('us'))})
save('int96',ts,expect=ts.cast(pa.schema([('t96',pa.timestamp('us','UTC'))])),compression='none',use_deprecated_int96_timestamps=True)
# a dictionary that is given up in the middle of a chunk
fb=pa.table({'s':pa.array(['same']*200+['v%05d'%k for k in range(600)]+[None]*10)})
save('dictionary_fallback',fb,compression='none',dictionary_pagesize_limit=1024,data_page_size=512,write_batch_size=32)
save('empty',f.slice(0,0),compression='snappy')
save('all_null',pa.table({'n':pa.nulls(20),'s':pa.array([None]*20,pa.string()),'i':pa.array([None]*20,pa.int32())}),compression='snappy',data_page_version='2.0')
