import sym,glob,sys,collections,ast,copy,re,math
A=ast
def mag(v):
    if isinstance(v,bool) or v is None or isinstance(v,str): return repr(v)
    a=abs(float(v))
    if a==0: return "0"
    return "%s#%d"%("-" if v<0 else "",int(math.floor(math.log10(a)))) if a<1000 else "BIG"
class K(A.NodeTransformer):
    def __init__(s,p): s.p=p
    def visit_Name(s,x):
        if x.id in s.p.modconst and isinstance(s.p.modconst[x.id][1],A.Constant): return A.Constant(s.p.modconst[x.id][1].value)
        if x.id in s.p.imports or x.id in s.p.funcs or x.id in __builtins__.__dict__: return x
        return A.Name("n",A.Load())
    def visit_Attribute(s,x):
        if isinstance(x.value,A.Name) and x.value.id in s.p.cfgvars and x.attr in s.p.cfg and not isinstance(s.p.cfg[x.attr],(list,dict)): return A.Constant(s.p.cfg[x.attr])
        s.generic_visit(x); 
        if x.attr in s.p.fields: x.attr="f"
        return x
    def visit_Subscript(s,x):
        if isinstance(x.value,A.Name) and x.value.id in s.p.cfgvars and isinstance(x.slice,A.Constant) and x.slice.value in s.p.cfg and not isinstance(s.p.cfg[x.slice.value],(list,dict)): return A.Constant(s.p.cfg[x.slice.value])
        s.generic_visit(x); return x
class K2(A.NodeTransformer):
    def visit_Constant(s,x):
        return A.Name("C_"+mag(x.value).replace("'","").replace(" ","_"))
def names(x): return {y.id for y in A.walk(x) if isinstance(y,A.Name)}
def form(st,p):
    """droppable form?"""
    if isinstance(st,A.If) and not st.orelse and not any(isinstance(x,(A.Return,A.Raise,A.Continue,A.Break)) for x in A.walk(st)): return "if"
    if isinstance(st,A.Expr) and isinstance(st.value,A.Call): return "do"
    if isinstance(st,A.For) and len(st.body)==1 and isinstance(st.body[0],A.Assign) and isinstance(st.body[0].targets[0],(A.Subscript,A.Attribute)): return "for"
    if isinstance(st,A.For) and len(st.body)==1 and isinstance(st.body[0],A.If) : return "for"
    if isinstance(st,A.Assign) and len(st.targets)==1:
        t=st.targets[0]
        if isinstance(t,A.Name) and t.id in names(st.value): return "self"
        if isinstance(t,(A.Attribute,A.Subscript)): return "set"
    return None
def key(st,p):
    x=K(p).visit(copy.deepcopy(st)); x=K2().visit(x)
    try: return A.unparse(A.fix_missing_locations(x))
    except Exception: return A.dump(x)
def all_stmts(p):
    for n,(f,fd) in list(p.funcs.items())+[(a,(b,c)) for a,(b,c,_) in p.methods.items()]:
        if n==p.reader: continue
        for st in A.walk(fd):
            if isinstance(st,A.stmt) and st is not fd: yield n,st
if __name__=="__main__":
    P=[sym.Project(f) for f in sorted(glob.glob("tickets/*"))]
    nk=collections.Counter(p.kind for p in P)
    g=collections.defaultdict(lambda:collections.defaultdict(set)); 
    for p in P:
        S,o=sym.roots(p)
        for n,st in all_stmts(p):
            if n not in o: continue
            f=form(st,p)
            if f: g[(f,key(st,p))][p.kind].add((p.folder[-4:],p.text))
    for (f,k),d in sorted(g.items(),key=lambda q:(q[0][0],-len({t for v in q[1].values() for _,t in v}))):
        if all(len(v)>0.8*nk[kd] for kd,v in d.items()): continue
        print(f,"| tickets",sum(map(len,d.values())),"texts",len({t for v in d.values() for _,t in v}),"| maxshare %.2f"%max(len(v)/nk[kd] for kd,v in d.items()),"|",k.replace("\n","; ")[:160],"|",[a for v in d.values() for a,_ in sorted(v)][:4])
