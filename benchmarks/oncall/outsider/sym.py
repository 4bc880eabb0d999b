import ast, os, copy, re, glob, yaml, json
A=ast
METH=set("exp log sum mean std clamp gather softmax log_softmax flatten square cumsum sort abs sqrt var max min argmax detach float".split())
DIMM=set("sum mean std softmax log_softmax cumsum gather cat stack var argmax unsqueeze squeeze logsumexp".split())
class N:
    """node: op, value, kids; src"""
    __slots__=("op","v","k","src","key","_d")
    def __init__(s,op,v=None,k=(),src=None,key=None):
        s.op=op;s.v=v;s.k=list(k);s.src=src;s.key=key;s._d=None
    def d(s):
        if s._d is None:
            import hashlib
            t=s.op+":"+("%r"%(s.v,))
            if s.k: t+="("+",".join(c.d() for c in s.k)+")"
            if len(t)>200: t="#"+s.op+hashlib.md5(t.encode()).hexdigest()
            s._d=t
        return s._d
    def show(s,depth=6):
        if depth==0: return "…"
        t=s.op if s.v is None else (s.op+":"+str(s.v))
        if s.op=="const": return repr(s.v)
        if s.op=="name": return str(s.v)
        if s.op=="attr": return s.k[0].show(depth)+"."+s.v
        if s.op=="call": return s.k[0].show(depth)+"("+", ".join(c.show(depth-1) for c in s.k[1:])+")"
        if s.op=="kw": return "%s=%s"%(s.v,s.k[0].show(depth))
        if s.k: t+="("+", ".join(c.show(depth-1) for c in s.k)+")"
        return t
    def size(s): return 1+sum(c.size() for c in s.k)
def C(v,src=None,key=None):
    if isinstance(v,bool) or v is None or isinstance(v,(str,bytes)) or v is Ellipsis: pass
    elif isinstance(v,(int,float)):
        f=float(v)
        v=int(f) if f==int(f) and abs(f)<1e15 else float("%.10g"%f) if f==f and abs(f)!=float('inf') else f
    elif isinstance(v,(list,tuple)):
        return N("list",None,[C(x,src) for x in v],src,key)
    elif isinstance(v,dict):
        return N("dict",None,[N("kw",a,[C(b,src)],src) for a,b in sorted(v.items())],src,key)
    return N("const",v,(),src,key)

class Project:
    def __init__(s,folder,over=None):
        over=over or {}
        s.folder=folder; s.files={}; s.trees={}; s.funcs={}; s.classes={}; s.consts={}; s.constsrc={}
        s.imports={}
        for f in sorted(glob.glob(os.path.join(folder,"*.py"))):
            n=os.path.basename(f); t=over.get(n) if n in over else open(f,encoding="utf-8").read(); s.files[n]=t; s.trees[n]=ast.parse(t)
        s.ytext=over.get("config.yaml") or open(os.path.join(folder,"config.yaml"),encoding="utf-8").read()
        y=yaml.safe_load(s.ytext) or {}
        s.cfg={}
        for k,v in y.items():
            if isinstance(v,dict): s.cfg.update(v)
            else: s.cfg[k]=v
        s.kind=open(os.path.join(folder,"ticket.md"),encoding="utf-8").read()
        a,b=s.kind.split("## The run",1); s.kind=re.sub(r"\s+"," ",b).strip(); s.text=re.sub(r"\s+"," ",a).strip()
        mods={n[:-3] for n in s.files}
        s.modconst={}
        for n,t in s.trees.items():
            for st in t.body:
                if isinstance(st,A.FunctionDef): s.funcs[st.name]=(n,st)
                elif isinstance(st,A.ClassDef): s.classes[st.name]=(n,st)
                elif isinstance(st,A.Assign) and len(st.targets)==1 and isinstance(st.targets[0],A.Name):
                    s.modconst[st.targets[0].id]=(n,st.value)
                elif isinstance(st,A.ImportFrom) and st.module not in mods:
                    for a in st.names: s.imports[a.asname or a.name]=st.module+"."+a.name
                elif isinstance(st,A.Import):
                    for a in st.names: s.imports[a.asname or a.name]=a.name
        # config reader, config variable names
        s.reader=None; s.cfgvars=set()
        for f,(n,fd) in s.funcs.items():
            if "yaml." in ast.unparse(fd): s.reader=f
        for n,t in s.trees.items():
            for x in A.walk(t):
                if isinstance(x,A.Assign) and isinstance(x.value,A.Call) and isinstance(x.value.func,A.Name) and x.value.func.id==s.reader and isinstance(x.targets[0],A.Name):
                    s.cfgvars.add(x.targets[0].id)
        s.fields={}
        s.methods={}
        s.props=set()
        for c,(n,cd) in s.classes.items():
            i=0
            for b in cd.body:
                if isinstance(b,A.AnnAssign): s.fields[b.target.id]="@f%d"%i; i+=1
                if isinstance(b,A.FunctionDef):
                    s.methods[b.name]=(n,b,c)
                    if any(isinstance(x,A.Name) and x.id=="property" for x in b.decorator_list): s.props.add(b.name)
        s.selfattr={}
        for c,(n,cd) in s.classes.items():
            for b in cd.body:
                if isinstance(b,A.FunctionDef) and b.name=="__init__":
                    ps=[a.arg for a in b.args.args]
                    k=0
                    for st in b.body:
                        if isinstance(st,A.Assign):
                            T=st.targets[0]; V=st.value
                            prs=list(zip(T.elts,V.elts)) if isinstance(T,A.Tuple) and isinstance(V,A.Tuple) else [(T,V)]
                            for t,v in prs:
                                if isinstance(t,A.Attribute):
                                    if isinstance(v,A.Name) and v.id in s.cfgvars: s.selfattr[t.attr]="@cfg"
                                    elif isinstance(v,A.Name) and v.id in ps: s.selfattr[t.attr]="@s%d"%ps.index(v.id)
                                    else: s.selfattr[t.attr]="@x%d"%k; k+=1
        s.fname={}  # project name -> canonical cluster
        s.harmless=set()
        s.opt_effects=None

class Ret(Exception): pass

class Sym:
    def __init__(s,p,rename=None,drop=None,edrop=None):
        s.edrop=edrop; s.edropped=[]
        s.p=p; s.ren=rename or {}; s.drop=drop or (lambda st,fn:False)
        s.refs=set(); s.sum={}; s.stack=[]; s.index={}  # (func)->{dump:text}
        s.fresh=0
        s.dropped=[]
    edrop=None
    def filt(s,eff):
        out=[]
        for e in eff:
            if e.op in("do","set") and s.edrop(e): s.edropped.append(e); continue
            if e.op in("if","for","while","with","try"):
                k=[N("block",None,s.filt(c.k),c.src) if c.op=="block" else c for c in e.k]
                if e.op in("if",) and not k[1].k and not k[2].k: s.edropped.append(e); continue
                if e.op in("with",) and not k[-1].k: continue
                e=N(e.op,e.v,k,e.src)
            out.append(e)
        return out
    # ---------- functions
    def summary(s,name):
        """(params, effects list, ret or None)"""
        if name in s.sum: return s.sum[name]
        if name in s.stack: return None
        s.stack.append(name)
        if name in s.p.funcs: n,fd=s.p.funcs[name]
        else: n,fd,_=s.p.methods[name]
        r=Fn(s,n,fd,name).run()
        s.stack.pop()
        r["raw"]=r["eff"]
        if s.edrop: r["eff"]=s.filt(r["eff"])
        s.sum[name]=r
        return r
    def cname(s,f): return s.ren.get(f,"@F")

def isname(x,i): return isinstance(x,A.Name) and x.id==i

class Fn:
    def __init__(s,S,file,fd,name):
        s.S=S;s.p=S.p;s.file=file;s.fd=fd;s.name=name;s.env={};s.idx=S.index.setdefault(name,{})
        s.nophi=0
    def src(s,x): return (s.file,s.name,x)
    def run(s):
        fd=s.fd
        ps=fd.args.args+fd.args.kwonlyargs
        params=[];i=0
        defaults=dict(zip([a.arg for a in fd.args.args][len(fd.args.args)-len(fd.args.defaults):],fd.args.defaults))
        for a in ps:
            if a.arg in s.p.cfgvars: s.env[a.arg]=N("name","CFG"); params.append((a.arg,"CFG",None)); continue
            if a.arg=="self": s.env["self"]=N("name","SELF"); params.append(("self","SELF",None)); continue
            d=s.ev(defaults[a.arg]) if a.arg in defaults else None
            nm="P%d"%i; i+=1
            params.append((a.arg,nm,d)); s.env[a.arg]=N("name",nm)
        if fd.args.kwarg: s.env[fd.args.kwarg.arg]=N("name","KW")
        s.idmark={}
        eff=[]
        decs=[s.ev(d) for d in fd.decorator_list if not isname(d,"property")]
        body=fd.body
        if len(body)==1 and isinstance(body[0],A.With) or (len(body)==2 and isinstance(body[1],A.With) and isinstance(body[0],A.Expr)):
            w=body[-1]
            if "no_grad" in ast.unparse(w.items[0].context_expr) and not w.items[0].optional_vars:
                decs.append(s.ev(w.items[0].context_expr)); body=w.body
        s.block(body,eff)
        if decs: eff=[N("deco",None,[d],d.src) for d in decs]+eff
        return dict(params=params,eff=eff,fd=fd,file=s.file,name=s.name)
    # ---------- statements
    def debugtest(s,t):
        u=ast.unparse(t)
        if any(w in u for w in("sys.argv","os.environ","cuda.is_available","sys.platform","sys.flags")): return True
        m=re.search(r"os\.path\.(exists|isdir|isfile|isfile)\(",u)
        if m:
            for x in A.walk(t):
                if isinstance(x,A.Constant) and isinstance(x.value,str):
                    if not any(isinstance(y,A.Name) and y.id in s.p.modconst for y in A.walk(t)): return True
        if re.search(r"getpass|socket|os\.cpu_count|os\.getenv",u): return True
        ns=[x.id for x in A.walk(t) if isinstance(x,A.Name)]
        if ns and all(n in s.p.imports and n not in s.env for n in ns): return True
        return False
    def block(s,stmts,eff):
        stmts=list(stmts)
        for i,st in enumerate(stmts):
            if s.stmt(st,eff,stmts[i+1:]): return True
        return False
    def assigned(s,stmts):
        out=[]
        for st in stmts:
            for x in A.walk(st):
                if isinstance(x,A.Name) and isinstance(x.ctx,A.Store) and x.id not in out: out.append(x.id)
        return out
    def stmt(s,st,eff,rest):
        """True if it handled the rest of the block as well"""
        S=s.S
        if S.drop(st,s): S.dropped.append((s.name,st)); return False
        if isinstance(st,A.Expr):
            v=st.value
            if isinstance(v,A.Constant): return False
            if isinstance(v,A.Call):
                u=ast.unparse(v.func)
                if u=="print": return False
                if isinstance(v.func,A.Attribute) and isinstance(v.func.value,A.Name):
                    nm=v.func.value.id; cur=s.env.get(nm)
                    if cur is not None and cur.op=="dict" and v.func.attr=="update":
                        items=list(cur.k)
                        for a in v.args:
                            e=s.ev(a)
                            if e.op=="dict": items+=e.k
                            else: items.append(N("star",None,[e],s.src(a)))
                        for kw in v.keywords:
                            e=s.ev(kw.value)
                            if kw.arg: items.append(N("kw",kw.arg,[e],s.src(kw)))
                            elif e.op=="dict": items+=e.k
                            else: items.append(N("star",None,[e],s.src(kw)))
                        s.env[nm]=s.mkdict(items,cur.src); return False
                    if cur is not None and cur.op=="list" and v.func.attr=="append":
                        s.env[nm]=N("list",None,cur.k+[s.ev(v.args[0])],cur.src); return False
            e=s.ev(v)
            if e.op=="inlined":
                eff.extend(e.k); return False
            eff.append(N("do",None,[e],s.src(st))); return False
        if isinstance(st,A.Return):
            e=s.ev(st.value) if st.value else C(None)
            eff.append(N("return",None,[e],s.src(st))); return True
        if isinstance(st,(A.Pass,A.Import,A.ImportFrom,A.Global,A.Assert)): return False
        if isinstance(st,A.AugAssign):
            fake=A.Assign(targets=[st.target],value=A.BinOp(left=s.load(st.target),op=st.op,right=st.value))
            A.copy_location(fake,st); A.copy_location(fake.value,st); fake.end_lineno=st.end_lineno; A.fix_missing_locations(fake)
            return s.stmt(fake,eff,rest)
        if isinstance(st,A.AnnAssign):
            fake=A.Assign(targets=[st.target],value=st.value); A.copy_location(fake,st); return s.stmt(fake,eff,rest)
        if isinstance(st,A.Assign):
            T=st.targets[0]
            if isinstance(T,A.Tuple) and isinstance(st.value,A.Tuple) and len(T.elts)==len(st.value.elts):
                vals=[s.ev(x) for x in st.value.elts]
                for t,v in zip(T.elts,vals): s.assign(t,v,eff,st)
                return False
            v=s.ev(st.value)
            for t in st.targets: s.assign(t,v,eff,st)
            return False
        if isinstance(st,A.If):
            test=st.test
            if s.debugtest(st.test):
                neg=isinstance(st.test,A.UnaryOp) and isinstance(st.test.op,A.Not)
                return s.block((st.body if neg else st.orelse)+rest,eff) or True
            t=s.ev(test); body,orelse=st.body,st.orelse
            if t.op=="not": t=t.k[0]; body,orelse=orelse,body
            if t.op=="cmp" and t.v in("NotEq","IsNot","NotIn"):
                t=N("cmp",{"NotEq":"Eq","IsNot":"Is","NotIn":"In"}[t.v],t.k,t.src); body,orelse=orelse,body
            if t.op=="cmp" and t.v=="LtE":   # a<=b  == not (b<a)
                t=N("cmp","Lt",[t.k[1],t.k[0]],t.src); body,orelse=orelse,body
            if t.op=="const":
                return s.block((body if t.v else orelse)+rest,eff) or True
            # branches that end in return swallow the rest
            def ends(b): return bool(b) and isinstance(b[-1],(A.Return,A.Raise,A.Continue,A.Break)) or (bool(b) and isinstance(b[-1],A.If) and ends(b[-1].body) and ends(b[-1].orelse))
            swallow=False
            if ends(body) and not ends(orelse): orelse=orelse+rest; swallow=True
            elif ends(orelse) and not ends(body): body=body+rest; swallow=True
            elif ends(body) and ends(orelse): swallow=True
            env0=dict(s.env)
            e1=[]; s.block(body,e1); env1=s.env
            s.env=dict(env0); e2=[]; s.block(orelse,e2); env2=s.env
            if len(e1)==1 and len(e2)==1 and e1[0].op=="return" and e2[0].op=="return":
                eff.append(N("return",None,[N("ifexp",None,[t,e1[0].k[0],e2[0].k[0]],s.src(st))],s.src(st)))
                return True
            m={}
            for k in set(env1)|set(env2):
                a=env1.get(k);b=env2.get(k)
                if a is None or b is None: m[k]=a or b
                elif a.d()==b.d(): m[k]=a
                else: m[k]=N("ifexp",None,[t,a,b],s.src(st))
            s.env=m
            if e1 or e2: eff.append(N("if",None,[t,N("block",None,e1,s.src(st)),N("block",None,e2,s.src(st))],s.src(st)))
            return swallow
        if isinstance(st,(A.For,A.While)):
            # append loop -> comprehension
            if isinstance(st,A.For):
                c=s.comp_of(st)
                if c is not None:
                    nm,node,flag=c
                    cur=s.env.get(nm)
                    if cur is not None and cur.op=="list" and not cur.k:
                        s.env[nm]=s.ev(node); return False
            names=[x for x in s.assigned([st])]
            carried=[x for x in names if x in s.env]
            init=[]
            if isinstance(st,A.For): it=s.ev(st.iter)
            for x in carried:
                ph="L%d"%s.S.fresh; s.S.fresh+=1
                init.append(N("init",ph,[s.env[x]],s.env[x].src)); s.env[x]=N("name",ph)
            e=[]; mut=[]
            for x in list(s.env):   # appended lists inside loops
                pass
            head=[]
            if isinstance(st,A.For):
                s.bind(st.target)
                head=[it,s.ev(s.load(st.target))]
            else: head=[s.ev(st.test)]
            saved={x:v for x,v in s.env.items() if v.op in("list","dict")}
            for x in saved:
                if any(isinstance(y,A.Name) and y.id==x for y in A.walk(st)):
                    ph="L%d"%s.S.fresh; s.S.fresh+=1
                    init.append(N("init",ph,[saved[x]],saved[x].src)); s.env[x]=N("name",ph)
            e=[]; s.block(st.body,e)
            for x,i in zip(carried,init):
                cur=s.env.get(x)
                if cur is not None and not(cur.op=="name" and cur.v==i.v): e.append(N("carry",i.v,[cur],cur.src))
                s.env[x]=N("name",i.v)
            eff.append(N("for" if isinstance(st,A.For) else "while",None,head+[N("block",None,init,s.src(st)),N("block",None,e,s.src(st))],s.src(st)))
            return False
        if isinstance(st,A.With):
            its=[]
            for w in st.items:
                e=s.ev(w.context_expr); its.append(e)
                if w.optional_vars is not None and isinstance(w.optional_vars,A.Name): s.env[w.optional_vars.id]=e
            u=its[0].show(3)
            if "open" in u:
                return s.block(st.body+rest,eff) if any(isinstance(x,A.Return) for x in st.body) else (s.block(st.body,eff) and False)
            e=[]; 
            s.block(st.body,e)
            # values computed under a with: mark
            nm=s.assigned(st.body)
            for x in nm:
                if x in s.env and x!="_": s.env[x]=N("under",None,its+[s.env[x]],s.src(st))
            if e: eff.append(N("with",None,its+[N("block",None,e,s.src(st))],s.src(st)))
            return False
        if isinstance(st,A.FunctionDef):
            f=Fn(s.S,s.file,st,s.name); f.env=dict(s.env); f.idx=s.idx
            r=f.run_nested(); s.env[st.name]=r; return False
        if isinstance(st,A.Raise): eff.append(N("raise",None,[],s.src(st))); return True
        if isinstance(st,(A.Continue,A.Break)): eff.append(N(type(st).__name__,None,[],s.src(st))); return True
        if isinstance(st,A.Delete): return False
        if isinstance(st,A.Try):
            e=[];s.block(st.body,e); eff.append(N("try",None,e,s.src(st))); return False
        eff.append(N("stmt",ast.unparse(st),[],s.src(st))); return False
    def run_nested(s):
        for i,a in enumerate(s.fd.args.args): s.env[a.arg]=N("name","B%d_%d"%(len(s.S.stack),i))
        eff=[]; s.block(s.fd.body,eff)
        ps=[s.env[a.arg] for a in s.fd.args.args]
        if len(eff)==1 and eff[0].op=="return": return N("lambda",len(ps),[eff[0].k[0]],s.src(s.fd))
        return N("lambda",len(ps),[N("block",None,eff,s.src(s.fd))],s.src(s.fd))
    def load(s,t):
        t=copy.deepcopy(t)
        for x in A.walk(t):
            if hasattr(x,"ctx"): x.ctx=A.Load()
        return t
    def comp_of(s,st):
        body=[b for b in st.body if not s.S.drop(b,s)]
        conds=[]
        while len(body)==1 and isinstance(body[0],A.If) and not body[0].orelse:
            conds.append(body[0].test); body=body[0].body
        pre=body[:-1]; last=body[-1] if body else None
        if pre or last is None: return None
        if isinstance(last,A.Expr) and isinstance(last.value,A.Call) and isinstance(last.value.func,A.Attribute) and last.value.func.attr=="append" and isinstance(last.value.func.value,A.Name):
            lc=A.ListComp(elt=last.value.args[0],generators=[A.comprehension(target=st.target,iter=st.iter,ifs=conds,is_async=0)])
            A.copy_location(lc,st)
            return last.value.func.value.id,lc,1
        return None
    def bind(s,t,base=None):
        if isinstance(t,A.Name):
            s.env[t.id]=N("name","B%d"%s.S.fresh); s.S.fresh+=1
        elif isinstance(t,(A.Tuple,A.List)):
            for x in t.elts: s.bind(x)
        elif isinstance(t,A.Starred): s.bind(t.value)
    def assign(s,t,v,eff,st):
        if isinstance(t,A.Name):
            s.env[t.id]=v
            # constructor-like value: keep
        elif isinstance(t,(A.Tuple,A.List)):
            if v.op in("tuple","list") and len(v.k)==len(t.elts):
                for x,y in zip(t.elts,v.k): s.assign(x,y,eff,st)
            else:
                for i,x in enumerate(t.elts): s.assign(x,N("item",i,[v],s.src(st)),eff,st)
        elif isinstance(t,A.Subscript) and isinstance(t.value,A.Name) and t.value.id in s.env and s.env[t.value.id].op=="dict":
            k=s.ev(t.slice); cur=s.env[t.value.id]
            if k.op=="const": s.env[t.value.id]=s.mkdict(cur.k+[N("kw",k.v,[v],s.src(st))],cur.src); return
            eff.append(N("set",None,[s.ev(s.load(t)),v],s.src(st)))
        else:
            tt=s.ev(s.load(t))
            eff.append(N("set",None,[tt,v],s.src(st)))
    def mkdict(s,items,src):
        d={};o=[]
        for it in items:
            if it.op=="kw": d[it.v]=it
            else: o.append(it)
        return N("dict",None,[d[k] for k in sorted(d,key=str)]+o,src)
    # ---------- expressions
    def ev(s,x):
        r=s.ev0(x)
        if r.src is None and hasattr(x,"lineno"):
            if r.op=="name": pass
            else: r.src=s.src(x)
        if hasattr(x,"lineno") and hasattr(x,"end_lineno"):
            try:
                t=ast.unparse(x)
                if len(t)<200:
                    s.idx.setdefault(t,[]).append(r)
            except Exception: pass
        # a fresh copy with the use site's source, so that edits hit the use
        if r.op!="inlined" and hasattr(x,"lineno"):
            r2=N(r.op,r.v,r.k,r.src if not isinstance(x,(A.Constant,)) and r.src is not None else s.src(x),r.key); r2._d=r._d
            return r2
        return r
    def ev0(s,x):
        p=s.p
        if isinstance(x,A.Constant): return C(x.value,s.src(x))
        if isinstance(x,A.Name):
            if x.id in s.env: return s.env[x.id]
            if x.id in p.cfgvars: return N("name","CFG")
            if x.id in p.modconst:
                f=Fn(s.S,p.modconst[x.id][0],s.fd,s.name); f.idx={}
                return f.ev(p.modconst[x.id][1])
            if x.id in p.funcs:
                r=s.S.summary(x.id); s.S.refs.add(x.id)
                return N("fn",s.S.cname(x.id),[],s.src(x),x.id)
            if x.id in p.classes: return N("cls","@cls",[],s.src(x),x.id)
            if x.id in p.imports: return N("name",p.imports[x.id],[],s.src(x))
            return N("name",x.id,[],s.src(x))
        if isinstance(x,A.Attribute):
            if isinstance(x.value,A.Name) and x.value.id in p.imports and x.value.id not in s.env:
                return N("name",p.imports[x.value.id]+"."+x.attr,[],s.src(x))
            b=s.ev(x.value)
            if b.op=="name" and (b.v=="CFG") and x.attr in p.cfg: return C(p.cfg[x.attr],s.src(x),x.attr)
            if b.op=="name" and b.v not in("SELF","CFG") and not re.match(r"[PLB]\d",b.v): return N("name",b.v+"."+x.attr,[],s.src(x))
            at=x.attr
            if b.op=="name" and b.v=="SELF" and at in p.selfattr:
                at=p.selfattr[at]
                if at=="@cfg": return N("name","CFG")
            elif at in p.props: 
                r=s.S.summary(at)
                if r and len(r["eff"])==1 and r["eff"][0].op=="return":
                    return subst(r["eff"][0].k[0],{"SELF":b})
                at="@p_"+s.S.cname(at)
            elif at in p.fields: at=p.fields[at]
            elif at in p.methods: 
                s.S.summary(at); at="@m_"+s.S.cname(at)
            if b.op=="name" and b.v=="SELF" and at=="@cfg": return N("name","CFG")
            return N("attr",at,[b],s.src(x))
        if isinstance(x,A.Subscript):
            b=s.ev(x.value)
            if isinstance(x.slice,A.Constant) and isinstance(x.slice.value,str):
                if b.op=="name" and b.v=="CFG" and x.slice.value in p.cfg: return C(p.cfg[x.slice.value],s.src(x),x.slice.value)
                if b.op=="attr" and b.v=="@cfg" and x.slice.value in p.cfg: return C(p.cfg[x.slice.value],s.src(x),x.slice.value)
                if b.op=="dict":
                    for it in b.k:
                        if it.op=="kw" and it.v==x.slice.value: return it.k[0]
            sl=s.ev(x.slice)
            if sl.op=="const" and isinstance(sl.v,int) and b.op in("tuple","list") and -len(b.k)<=sl.v<len(b.k): return b.k[sl.v]
            if sl.op=="tuple" and len(sl.k)==2 and sl.k[1].op=="const" and sl.k[1].v is None:
                if sl.k[0].op=="slice" and all(c.op=="const" and c.v is None for c in sl.k[0].k):
                    return N("call",None,[N("attr","unsqueeze",[b],s.src(x)),C(1)],s.src(x))
                if sl.k[0].op=="const" and sl.k[0].v is Ellipsis:
                    return N("call",None,[N("attr","unsqueeze",[b],s.src(x)),C(-1)],s.src(x))
            return N("sub",None,[b,sl],s.src(x))
        if isinstance(x,A.Slice):
            return N("slice",None,[s.ev(y) if y else C(None) for y in(x.lower,x.upper,x.step)],None)
        if isinstance(x,(A.Tuple,A.List)):
            out=[]
            for y in x.elts:
                if isinstance(y,A.Starred): out.append(N("star",None,[s.ev(y.value)],s.src(y)))
                else: out.append(s.ev(y))
            return N("tuple" if isinstance(x,A.Tuple) else "list",None,out,s.src(x))
        if isinstance(x,A.Set): return N("set",None,[s.ev(y) for y in x.elts],s.src(x))
        if isinstance(x,A.Dict):
            items=[]
            for k,v in zip(x.keys,x.values):
                e=s.ev(v)
                if k is None:
                    if e.op=="dict": items+=e.k
                    else: items.append(N("star",None,[e],s.src(v)))
                else:
                    kk=s.ev(k)
                    if kk.op=="const": items.append(N("kw",kk.v,[e],s.src(v)))
                    else: items.append(N("pair",None,[kk,e],s.src(v)))
            return s.mkdict(items,s.src(x))
        if isinstance(x,A.UnaryOp):
            o=s.ev(x.operand)
            if isinstance(x.op,A.USub):
                if o.op=="const" and isinstance(o.v,(int,float)): return C(-o.v,s.src(x),o.key)
                return N("neg",None,[o],s.src(x))
            if isinstance(x.op,A.Not):
                if o.op=="const": return C(not o.v,s.src(x))
                if o.op=="not": return o.k[0]
                if o.op=="cmp" and o.v in INV: 
                    return s.cmp(INV[o.v],o.k[0],o.k[1],s.src(x))
                return N("not",None,[o],s.src(x))
            return N(type(x.op).__name__,None,[o],s.src(x))
        if isinstance(x,A.BinOp):
            return s.bin(type(x.op).__name__,s.ev(x.left),s.ev(x.right),s.src(x))
        if isinstance(x,A.BoolOp):
            return N(type(x.op).__name__,None,[s.ev(y) for y in x.values],s.src(x))
        if isinstance(x,A.Compare):
            if len(x.ops)==1: return s.cmp(type(x.ops[0]).__name__,s.ev(x.left),s.ev(x.comparators[0]),s.src(x))
            return N("cmps",[type(o).__name__ for o in x.ops],[s.ev(x.left)]+[s.ev(c) for c in x.comparators],s.src(x))
        if isinstance(x,A.IfExp):
            t=s.ev(x.test);a=s.ev(x.body);b=s.ev(x.orelse)
            if t.op=="const": return a if t.v else b
            if t.op=="not": t=t.k[0];a,b=b,a
            if t.op=="cmp" and t.v in("NotEq","IsNot","NotIn"): t=N("cmp",INV[t.v],t.k,t.src);a,b=b,a
            return N("ifexp",None,[t,a,b],s.src(x))
        if isinstance(x,A.JoinedStr):
            parts=[]
            for v in x.values:
                if isinstance(v,A.Constant): parts.append(C(v.value,s.src(v)))
                else:
                    e=s.ev(v.value)
                    if v.format_spec is not None:
                        e=N("fmt",ast.unparse(v.format_spec),[e],s.src(v))
                    parts.append(e)
            return s.cat(parts,s.src(x))
        if isinstance(x,(A.ListComp,A.GeneratorExp,A.SetComp,A.DictComp)):
            old=dict(s.env); gens=[]
            for g in x.generators:
                it=s.ev(g.iter); s.bind(g.target); tg=s.ev(s.load(g.target))
                gens.append(N("gen",None,[it,tg]+[s.ev(i) for i in g.ifs],s.src(g.iter)))
            if isinstance(x,A.DictComp): e=[s.ev(x.key),s.ev(x.value)]
            else: e=[s.ev(x.elt)]
            s.env=old
            op="comp" if not isinstance(x,A.DictComp) else "dcomp"
            return N(op,None,e+gens,s.src(x))
        if isinstance(x,A.Lambda):
            old=dict(s.env)
            for i,a in enumerate(x.args.args): s.env[a.arg]=N("name","B%d_%d"%(len(s.S.stack),i))
            b=s.ev(x.body); s.env=old
            return N("lambda",len(x.args.args),[b],s.src(x))
        if isinstance(x,A.Call): return s.call(x)
        if isinstance(x,(A.Yield,)): return N("yield",None,[s.ev(x.value)] if x.value else [],s.src(x))
        if isinstance(x,A.Starred): return N("star",None,[s.ev(x.value)],s.src(x))
        if isinstance(x,A.NamedExpr):
            v=s.ev(x.value); s.env[x.target.id]=v; return v
        return N("expr",ast.unparse(x),[],s.src(x))
    def cmp(s,o,a,b,src):
        if o=="Gt": o,a,b="Lt",b,a
        if o=="GtE": o,a,b="LtE",b,a
        if a.op=="const" and b.op=="const" and o in("Eq","NotEq","Lt","LtE"):
            try: return C({"Eq":a.v==b.v,"NotEq":a.v!=b.v,"Lt":a.v<b.v if o=="Lt" else 0,"LtE":a.v<=b.v if o=="LtE" else 0}[o],src)
            except TypeError: pass
        if o in("Eq","NotEq") and b.d()<a.d(): a,b=b,a
        return N("cmp",o,[a,b],src)
    def cat(s,parts,src):
        flat=[]
        for q in parts:
            qs=q.k if q.op=="cat" else [q]
            for r in qs:
                if r.op=="const" and not isinstance(r.v,str): r=C(str(r.v),r.src)
                if r.op=="const" and flat and flat[-1].op=="const": flat[-1]=C(flat[-1].v+r.v,src)
                elif not(r.op=="const" and r.v==""): flat.append(r)
        if not flat: return C("",src)
        if len(flat)==1 and flat[0].op=="const": return flat[0]
        return N("cat",None,flat,src)
    def bin(s,o,a,b,src):
        if a.op=="const" and b.op=="const" and isinstance(a.v,(int,float)) and isinstance(b.v,(int,float)) and not isinstance(a.v,bool):
            try:
                v={"Add":lambda:a.v+b.v,"Sub":lambda:a.v-b.v,"Mult":lambda:a.v*b.v,"Div":lambda:a.v/b.v,"FloorDiv":lambda:a.v//b.v,"Pow":lambda:a.v**b.v,"Mod":lambda:a.v%b.v}[o]()
                return C(v,src,a.key or b.key)
            except Exception: pass
        if o=="Add":
            if any(q.op=="cat" or(q.op=="const" and isinstance(q.v,str)) for q in(a,b)): return s.cat([a,b],src)
        if o=="Mult":
            fl=[]
            for q in(a,b): fl+=(q.k if q.op=="mul" else [q])
            c=[q for q in fl if q.op=="const" and isinstance(q.v,(int,float))]
            if len(c)>1:
                v=1
                for q in c: v*=q.v
                fl=[q for q in fl if q not in c]+[C(v,src,c[0].key)]
            if any(q.op=="list" for q in fl) is False:
                fl2=[q for q in fl if not(q.op=="const" and q.v==1 and not isinstance(q.v,bool))]
                if fl2: fl=fl2
            if len(fl)==1: return fl[0]
            fl.sort(key=lambda q:q.d())
            return N("mul",None,fl,src)
        if o=="Div" and b.op=="const" and b.v==1: return a
        return N("bin",o,[a,b],src)
    def call(s,x):
        p=s.p;S=s.S
        f=x.func
        # project function
        if isinstance(f,A.Name) and f.id in p.funcs and f.id not in s.env:
            if f.id==p.reader: return N("name","CFG")
            r=S.summary(f.id)
            args=[s.ev(a) for a in x.args]; kws={k.arg:s.ev(k.value) for k in x.keywords}
            if r is not None and not any(isinstance(a,A.Starred) for a in x.args):
                m={}
                for i,(pn,nm,d) in enumerate(r["params"]):
                    if i<len(args): m[nm]=args[i]
                    elif pn in kws: m[nm]=kws[pn]
                    elif d is not None: m[nm]=d
                e=r["eff"]
                if len(e)==1 and e[0].op=="return":
                    v=subst(e[0].k[0],m)
                    return v if v.op!="name" else N(v.op,v.v,v.k,v.src)
                ar=[N("arg",nm,[m[nm]],m[nm].src) for pn,nm,d in r["params"] if nm in m and nm not in("CFG","SELF")]
            else: ar=args+[N("kw",k,[v],v.src) for k,v in kws.items()]
            return N("call",None,[N("fn",S.cname(f.id),[],s.src(f),f.id)]+ar,s.src(x))
        if isinstance(f,A.Attribute):
            # string formatting
            if f.attr=="format" and isinstance(f.value,A.Constant) and isinstance(f.value.value,str):
                parts=re.split(r"(\{[^{}]*\})",f.value.value); i=0; out=[]
                args=[s.ev(a) for a in x.args]; kws={k.arg:s.ev(k.value) for k in x.keywords}
                ok=True
                for q in parts:
                    if q.startswith("{") and q.endswith("}"):
                        b=q[1:-1]; nm,_,sp=b.partition(":")
                        try:
                            if nm=="": e=args[i]; i+=1
                            elif nm.isdigit(): e=args[int(nm)]
                            else: e=kws[nm]
                        except Exception: ok=False;break
                        if sp: e=N("fmt","f'%s'"%sp,[e],s.src(x))
                        out.append(e)
                    else: out.append(C(q,s.src(f.value)))
                if ok: return s.cat(out,s.src(x))
        fn=s.ev(f)
        args=[]; items=[]
        for a in x.args:
            e=s.ev(a)
            args.append(e)
        for k in x.keywords:
            e=s.ev(k.value)
            if k.arg: items.append(N("kw",k.arg,[e],s.src(k)))
            elif e.op=="dict": items+=e.k
            else: items.append(N("star",None,[e],s.src(k)))
        fv=fn.v if fn.op=="name" else None
        if fv=="os.path.join": 
            out=[]
            for i,a in enumerate(args): out+=([C("/")] if i else [])+[a]
            return s.cat(out,s.src(x))
        if fv=="float" and len(args)==1 and args[0].op=="const":
            try: return C(float(args[0].v),s.src(x),args[0].key)
            except Exception: pass
        if fv in("int","str","list","tuple","dict","bool","list") and len(args)==1 and not items and args[0].op in("const",) and fv in("int","bool"):
            try: return C({"int":int,"bool":bool}[fv](args[0].v),s.src(x),args[0].key)
            except Exception: pass
        if fv=="dict" and not args: return s.mkdict(items,s.src(x))
        if fv in("str",) and len(args)==1 and args[0].op=="cat": return args[0]
        if fv in("list","tuple") and len(args)==1 and args[0].op=="comp": return args[0]
        if fv=="list" and not args: return N("list",None,[],s.src(x))
        if fv in("min","max") and not items and len(args)>1 :
            args.sort(key=lambda q:q.d())
            if all(a.op=="const" for a in args):
                try: return C({"min":min,"max":max}[fv](a.v for a in args),s.src(x))
                except Exception: pass
        if fv and fv.startswith("torch.") and fv[6:] in METH and args:
            fn=N("attr",fv[6:],[args[0]],s.src(f)); args=args[1:]; fv=None
        if fv and fv.startswith("torch.nn.functional.") and fv[20:] in("softmax","log_softmax") and args:
            fn=N("attr",fv[20:],[args[0]],s.src(f)); args=args[1:]; fv=None
        nm=fn.v if fn.op=="attr" else (fv.split(".")[-1] if fv else None)
        if nm in DIMM:
            for it in list(items):
                if it.op=="kw" and it.v=="dim": items.remove(it); args.insert(0 if fn.op=="attr" else len(args),N(it.k[0].op,it.k[0].v,it.k[0].k,it.k[0].src,it.k[0].key))
        items=s.mkdict(items,None).k
        if fn.op=="lambda" and not items and len(args)==0: return fn.k[0]
        # methods of the project that are pure
        return N("call",None,[fn]+args+items,s.src(x))

INV={"Eq":"NotEq","NotEq":"Eq","Lt":"GtE","LtE":"Gt","Gt":"LtE","GtE":"Lt","Is":"IsNot","IsNot":"Is","In":"NotIn","NotIn":"In"}
def subst(n,m):
    memo={}
    def go(n):
        if id(n) in memo: return memo[id(n)]
        if n.op=="name" and n.v in m:
            q=m[n.v]; r=N(q.op,q.v,q.k,q.src,q.key)
        elif not n.k: r=n
        else:
            k=[go(c) for c in n.k]
            if all(a is b for a,b in zip(k,n.k)): r=n
            else:
                r=N(n.op,n.v,k,n.src,n.key)
                r=refold(r)
        memo[id(n)]=r
        return r
    return go(n)
def refold(r):
    if r.op=="bin" or r.op=="mul" or r.op=="cmp" or r.op=="neg" or r.op=="ifexp" or r.op=="attr" or r.op=="sub" or r.op=="cat":
        f=Fn.__new__(Fn)
        if r.op=="bin": return f.bin(r.v,r.k[0],r.k[1],r.src)
        if r.op=="mul":
            a=r.k[0]
            for b in r.k[1:]: a=f.bin("Mult",a,b,r.src)
            return a
        if r.op=="cmp": return f.cmp(r.v,r.k[0],r.k[1],r.src)
        if r.op=="neg" and r.k[0].op=="const" and isinstance(r.k[0].v,(int,float)): return C(-r.k[0].v,r.src,r.k[0].key)
        if r.op=="ifexp" and r.k[0].op=="const": return r.k[1] if r.k[0].v else r.k[2]
        if r.op=="cat": return f.cat(r.k,r.src)
    if r.op=="call":
        # ** of something that became a dict
        items=[];ch=False
        for c in r.k[1:]:
            if c.op=="star" and c.k[0].op=="dict": items+=c.k[0].k; ch=True
            else: items.append(c)
        if ch:
            a=[c for c in items if c.op!="kw"]; d={c.v:c for c in items if c.op=="kw"}
            r=N("call",None,[r.k[0]]+a+[d[k] for k in sorted(d)],r.src)
    return r

def canon(effs,env=None):
    """scoped alpha names"""
    env={} if env is None else env
    seq=[0]
    memo={}
    def bn(t,lv,out):
        if t.op=="name" and re.match(r"B\d",t.v): env[t.v]="b%d.%d"%(lv,len(out)); out.append(t.v)
        for c in t.k: bn(c,lv,out)
    def go(n,lv):
        key=(id(n),lv)
        if key in memo: return memo[key]
        r=go0(n,lv); memo[key]=r; return r
    def go0(n,lv):
        if n.op=="name":
            if n.v in env: return N("name",env[n.v],(),n.src,n.key)
            if re.match(r"B\d+_\d",n.v): return N("name","y"+n.v.split("_")[1],(),n.src)
            return n
        if n.op in("comp","dcomp"):
            ne=1 if n.op=="comp" else 2; g=[]; out=[]
            for q in n.k[ne:]:
                it=go(q.k[0],lv); bn(q.k[1],lv,out)
                g.append(N("gen",None,[it]+[go(c,lv+1) for c in q.k[1:]],q.src))
            return N(n.op,None,[go(c,lv+1) for c in n.k[:ne]]+g,n.src)
        if n.op in("for","while"):
            k=[]; out=[]
            sq=seq[0]; seq[0]+=1
            if n.op=="for":
                k.append(go(n.k[0],lv)); bn(n.k[1],lv,out)
                pr=sorted([(N("init",None,[go(c.k[0],lv)],c.src),c) for c in n.k[2].k],key=lambda q:q[0].show(5))
                ini=[a for a,_ in pr]
                for j,(a,c) in enumerate(pr): env[c.v]="l%d.%d"%(sq,j)
                for j,c in enumerate(ini): c.v="l%d.%d"%(sq,j)
                k+= [go(n.k[1],lv+1),N("block",None,ini,n.k[2].src),go(n.k[3],lv+1)]
            else:
                pr=sorted([(N("init",None,[go(c.k[0],lv)],c.src),c) for c in n.k[1].k],key=lambda q:q[0].show(5))
                ini=[a for a,_ in pr]
                for j,(a,c) in enumerate(pr): env[c.v]="l%d.%d"%(sq,j)
                for j,c in enumerate(ini): c.v="l%d.%d"%(sq,j)
                k=[go(n.k[0],lv+1),N("block",None,ini,n.k[1].src),go(n.k[2],lv+1)]
            return N(n.op,None,k,n.src)
        if n.op=="carry": return N("carry",env.get(n.v,n.v),[go(c,lv) for c in n.k],n.src)
        if not n.k: return n
        k=[go(c,lv) for c in n.k]
        if all(a is b for a,b in zip(k,n.k)): return n
        return N(n.op,n.v,k,n.src,n.key)
    return [go(e,0) for e in effs]

def roots(p,drop=None,ren=None,edrop=None):
    S=Sym(p,ren,drop or (lambda st,fn:False),edrop)
    main=None
    t=p.trees["train.py"]
    for st in t.body:
        if isinstance(st,A.If) and "__name__" in ast.unparse(st.test):
            for b in st.body:
                if isinstance(b,A.Expr) and isinstance(b.value,A.Call) and isinstance(b.value.func,A.Name): main=b.value.func.id
    if main is None: raise ValueError("no main")
    S.summary(main)
    # methods of used classes
    for _ in range(3):
        for n,(f,fd,c) in list(p.methods.items()): S.summary(n)
    out={}
    used=set()
    for name,r in S.sum.items():
        e=r["eff"]
        if name!=main and name in p.funcs and len(e)==1 and e[0].op=="return" : 
            # inlined, unless only referred to (as a value)
            if name not in S.refs: r["inl"]=True
        out[name]=r
    S.main=main
    return S,out
