import sym,glob,sys,collections,ast,copy,re,os,math
from t2 import mag,names
A=ast; N=sym.N
BI=set(dir(__builtins__)) if not isinstance(__builtins__,dict) else set(__builtins__)
def form(st):
    if isinstance(st,A.If) and not st.orelse and not any(isinstance(x,(A.Return,A.Raise,A.Continue,A.Break,A.Yield)) for x in A.walk(st)):
        for x in A.walk(st):
            if isinstance(x,A.Attribute) and x.attr in("append","insert"): return None
        return "if"
    if isinstance(st,A.For) and len(st.body)==1 and isinstance(st.body[0],A.Assign) and isinstance(st.body[0].targets[0],(A.Subscript,A.Attribute)): return "for"
    if isinstance(st,A.For) and len(st.body)==1 and isinstance(st.body[0],A.If) and isinstance(st.body[0].body[0],A.Assign): return "for"
    if isinstance(st,A.Assign) and len(st.targets)==1:
        t=st.targets[0]
        if isinstance(t,A.Name) and t.id in names(st.value): return "self"
        if isinstance(t,A.Attribute) and ast.unparse(t) in ast.unparse(st.value): return "self"
    return None
def effshow(n,d=6):
    def go(n,d):
        if n.op=="const": return mag(n.v) if isinstance(n.v,(int,float)) and not isinstance(n.v,bool) else repr(n.v)
        if n.op=="name" and (re.match(r"[PBLv]\d",n.v) or n.v in("SELF",)): return "x"
        if n.op=="name": return n.v
        if d==0: return "x"
        if n.op=="attr": return go(n.k[0],d)+"."+("f" if n.v.startswith("@") else n.v)
        if n.op=="kw": return "%s=%s"%(n.v,go(n.k[0],d))
        return n.op+":"+str(n.v)+"("+",".join(go(c,d-1) for c in n.k)+")"
    return go(n,d)
class EnvAny(dict):
    def __init__(s,p): s.p=p
    def __contains__(s,k): return not(k in s.p.imports or k in s.p.funcs or k in s.p.modconst or k in s.p.cfgvars or k in BI or k in s.p.classes)
    def __getitem__(s,k): return dict.get(s,k) or N("name","P0")
    def get(s,k,d=None): return s[k] if k in s else d
def skey(p,st):
    f=sym.Fn.__new__(sym.Fn); S=sym.Sym(p); 
    class Dummy(sym.Sym):
        def summary(s,n): return None
        def cname(s,f): return f
    S=Dummy(p)
    f.S=S; f.p=p; f.file=""; f.fd=None; f.name="?"; f.env=EnvAny(p); f.idx={}
    try:
        if isinstance(st,A.Assign): return effshow(f.ev(st.value))
        if isinstance(st,A.If):
            if f.ev(st.test).op=="const": return None
            b=[]
            for x in st.body:
                if isinstance(x,A.Assign): b.append(effshow(f.ev(f.load(x.targets[0])))+"="+effshow(f.ev(x.value)))
                elif isinstance(x,A.Expr): b.append(effshow(f.ev(x.value)))
                else: return None
            return "if "+effshow(f.ev(st.test))+":"+";".join(b)
        if isinstance(st,A.For):
            x=st.body[0]
            if isinstance(x,A.Assign): return "for "+effshow(f.ev(st.iter))+":"+effshow(f.ev(f.load(x.targets[0])))+"="+effshow(f.ev(x.value))
            return "for "+effshow(f.ev(st.iter))+":"+skey(p,x)
    except Exception as e: return None
def ekey(e):
    def path(n):
        if n.op=="attr":
            b=n.k[0]; return (path(b) if b.op in("attr","name") else "x")+"."+("f" if n.v.startswith("@") else n.v)
        if n.op=="name": return "x" if re.match(r"[PBLv]\d",n.v) or n.v=="SELF" else n.v
        if n.op=="fn": return "@fn"
        if n.op=="sub" and n.k[1].op=="const": return "x[%r]"%n.k[1].v
        if n.op=="call" and n.k[0].op in("name","attr"): 
            q=path(n.k[0]).split(".")[-1]
            if q[:1].isupper() or q=="from_pretrained": return q+"()"
        return "x"
    def arg(n):
        if n.op=="const": return mag(n.v) if isinstance(n.v,(int,float)) and not isinstance(n.v,bool) else repr(n.v)
        if n.op=="kw": return n.v+"="+arg(n.k[0])
        if n.op=="dict": return "{"+",".join(arg(c) for c in n.k)+"}"
        return "x"
    if e.op=="do":
        c=e.k[0]
        if c.op!="call": return None
        ph=path(c.k[0])
        if "@fn" in ph or ph.endswith(".append"): return None
        if ph.endswith((".f",)): return None
        if ph.endswith(("load_state_dict",)): return ph
        return ph+"("+",".join(arg(a) for a in c.k[1:])+")"
    if e.op=="set":
        t=e.k[0]; 
        if t.op=="attr" and t.v.startswith("@"): return None
        return path(t)+"="+arg(e.k[1])
class Stats:
    def __init__(s,P):
        s.P=P; s.nk=collections.Counter(p.kind for p in P)
        s.S=collections.defaultdict(lambda:collections.defaultdict(set))
        s.E=collections.defaultdict(lambda:collections.defaultdict(set))
        s.K=collections.defaultdict(lambda:collections.defaultdict(set))
        s.C=collections.defaultdict(lambda:collections.defaultdict(set))
        for p in P:
            for k in p.sk: s.S[k][p.kind].add((p.folder,p.text))
            for k in p.ek: s.E[k][p.kind].add((p.folder,p.text))
            for k in p.kk: s.K[k][p.kind].add((p.folder,p.text))
            for k in p.ck: s.C[k][p.kind].add((p.folder,p.text))
    def texts(s,T,k): return len({t for v in T[k].values() for _,t in v}) if k in T else 0
    def share(s,T,k,kind): return len(T[k][kind])/max(1,s.nk[kind]) if k in T else 0
    def drop_s(s,k,kind):
        if k is None or k not in s.S: return False
        n=s.texts(s.S,k); sh=s.share(s.S,k,kind); nk=sum(1 for v in s.S[k].values() if v)
        return n>=3 and (sh<0.6 or (sh<0.9 and nk>=2))
    def drop_e(s,k,kind):
        if k is None or k not in s.E: return False
        sh=s.share(s.E,k,kind); return s.texts(s.E,k)>=3 and (sh<0.6 or (sh<0.75 and sum(1 for v in s.E[k].values() if v)>=2))
    def drop_c(s,k,kind):
        return k in s.C and s.texts(s.C,k)>=2 and s.share(s.C,k,kind)<0.5
    def drop_k(s,k,kind):
        return s.texts(s.K,k)>=3 and s.share(s.K,k,kind)<0.5
def prep(p):
    """raw keys of a project"""
    p.skey={}
    p.sk=set(); p.ek=set(); p.kk=set(); p.ck=set()
    S,o=sym.roots(p)
    for n in o:
        fd=(p.funcs.get(n) or p.methods.get(n))[1]
        for st in A.walk(fd):
            if isinstance(st,A.stmt) and form(st):
                k=skey(p,st)
                p.skey[id(st)]=k
                if k: p.sk.add(k)
    seen=set()
    for n,r in o.items():
        st=list(r["eff"])
        while st:
            x=st.pop()
            if id(x) in seen: continue
            seen.add(id(x)); st.extend(x.k)
            q=ckey(x)
            if q: p.ck.add(q[0])
            if x.op in("do","set"):
                k=ekey(x)
                if k: p.ek.add(k)
            if x.op=="call":
                for c in x.k[1:]:
                    if c.op=="kw": p.kk.add((callee(x),c.v))
def ckey(n):
    """key of an element of a chain that may be a harmless extra; returns (key, inner)"""
    if n.op=="call" and n.k[0].op=="attr" and len(n.k)>1 and all(a.op=="const" and isinstance(a.v,str) for a in n.k[1:]) and n.k[0].v in("replace","removeprefix","removesuffix","strip","lstrip","rstrip"):
        return ("c",n.k[0].v)+tuple(a.v for a in n.k[1:]),n.k[0].k[0]
    if n.op=="sub" and n.k[1].op=="const" and isinstance(n.k[1].v,int):
        m=n.k[0]
        if m.op=="call" and m.k[0].op=="attr" and m.k[0].v in("split","partition","rpartition","rsplit") and len(m.k)>1 and m.k[1].op=="const":
            return ("s",m.k[0].v,m.k[1].v,n.k[1].v),m.k[0].k[0]
    if n.op=="sub" and n.k[1].op=="slice":
        a,b,s_=n.k[1].k
        if all(q.op=="const" for q in(a,b,s_)) and s_.v is None:
            if a.v is None and isinstance(b.v,int) and b.v>=500: return ("h",),n.k[0]
            if b.v is None and isinstance(a.v,int) and a.v<=-500: return ("t",),n.k[0]
    if n.op=="comp" and len(n.k)==2 and n.k[0].op=="name" and len(n.k[1].k)==3 and n.k[1].k[1].op=="name" and n.k[1].k[1].v==n.k[0].v:
        return ("f",re.sub(r"[-#\d]+|BIG","N",effshow(n.k[1].k[2]))),n.k[1].k[0]
    return None
def callee(n):
    f=n.k[0]
    if f.op=="name": return f.v.split(".")[-1]
    if f.op=="attr": return "."+f.v
    return f.op
def toks(r):
    out=collections.Counter(); seen=set(); st=list(r["eff"])
    while st:
        x=st.pop()
        if id(x) in seen: continue
        seen.add(id(x)); st.extend(x.k)
        if x.op=="name" and not re.match(r"[PBLv]\d",x.v): out["n:"+x.v]=1
        elif x.op=="attr": out["a:"+x.v]=1
        elif x.op=="kw": out["k:"+str(x.v)]=1
        elif x.op=="const" and isinstance(x.v,str): out["c:"+x.v]=1
        elif x.op in("bin","cmp"): out["b:"+str(x.v)]=1
    out["np%d"%len([q for q in r["params"] if q[1] not in("CFG","SELF")])]=1
    for e in r["eff"]: out["e:"+e.op]=1
    return out
def sim(a,b):
    i=sum((a&b).values()); u=sum((a|b).values()); return i/max(1,u)
def normal(p,st,ren=None):
    drop=lambda x,fn: form(x) is not None and st.drop_s(p.skey.get(id(x)) ,p.kind)
    ed=lambda e: st.drop_e(ekey(e),p.kind)
    S,o=sym.roots(p,drop,ren,ed)
    return S,o
def dropkw(n,p,st,memo):
    if id(n) in memo: return memo[id(n)]
    q=ckey(n)
    if q and st.drop_c(q[0],p.kind):
        r=dropkw(q[1],p,st,memo); memo[id(n)]=r; return r
    k=[dropkw(c,p,st,memo) for c in n.k]
    if n.op=="call":
        cl=callee(n)
        k=[c for c in k if not(c.op=="kw" and st.drop_k((cl,c.v),p.kind))]
    if n.op=="mul" or n.op=="cmp" and n.v in("Eq","NotEq"): k.sort(key=lambda q:q.d())
    r=N(n.op,n.v,k,n.src,n.key) if (len(k)!=len(n.k) or any(a is not b for a,b in zip(k,n.k))) else n
    memo[id(n)]=r
    return r
def cluster(PS):
    """list of (p, o) of one kind -> rename maps per project"""
    cl=[]  # centroid counters, n
    maps=[]
    for p,o in PS:
        fs=[(n,toks(r)) for n,r in o.items()]
        cand=[]
        for n,t in fs:
            for i,(c,m) in enumerate(cl):
                cen=collections.Counter({k:v/m for k,v in c.items()})
                s=sum(min(t[k],cen[k]) for k in t)/max(1e-9,sum(max(t[k],cen[k]) for k in set(t)|set(cen)))
                if s>0.35: cand.append((s,n,i))
        cand.sort(reverse=True); m={}; used=set()
        for s,n,i in cand:
            if n in m or i in used: continue
            m[n]=i; used.add(i)
        for n,t in fs:
            if n not in m: m[n]=len(cl); cl.append((collections.Counter(),0))
            c,k=cl[m[n]]; cl[m[n]]=(c+t,k+1)
        maps.append({n:"@%d"%i for n,i in m.items()})
    return maps
def canonset(p,st,ren):
    S,o=normal(p,st,ren)
    out={}
    for n,r in o.items():
        memo={}
        eff=[dropkw(e,p,st,memo) for e in r["eff"]]
        env={}
        out[ren.get(n,"@new_"+n)]=dict(name=n,tree=N("block",None,sym.canon(eff,env),(r["file"],n,r["fd"])),r=r,env=env,inl=r.get("inl"))
    return S,out
def wmaj(items):
    """items: list of (weight,node) -> weights by d"""
    c={}
    for w,n in items:
        e=c.setdefault(n.d(),[0,n]); e[0]+=w
    return max(c.values(),key=lambda q:q[0])
def chain(n):
    out=[]
    while True:
        if n.op=="call" and n.k[0].op=="attr" and all(a.op=="const" or a.op=="slice" for a in n.k[1:]):
            out.append(("call",n.k[0].v,tuple(n.k[1:]),n)); n=n.k[0].k[0]
        elif n.op=="sub" and n.k[1].op in("const","slice"):
            out.append(("sub",None,(n.k[1],),n)); n=n.k[0]
        else: break
    return n,out[::-1]
def core_chain(items):
    tot=sum(w for w,_ in items); b={}; els={}; order={}
    for w,n in items:
        if n.op=="return": return None
        base,ch=chain(n)
        b.setdefault(base.d(),[0,base])[0]+=w
        seen=set()
        for i,e in enumerate(ch):
            k=(e[0],e[1],tuple(a.d() for a in e[2]))
            if k in seen: continue
            seen.add(k); q=els.setdefault(k,[0,e,[]]); q[0]+=w; q[2].append(i)
    bb=max(b.values(),key=lambda q:q[0])
    if bb[0]<=tot*0.5: return None
    keep=[q for q in els.values() if q[0]>tot*0.5]
    if not keep: return None
    keep.sort(key=lambda q:sum(q[2])/len(q[2]))
    n=bb[1]
    for q in keep:
        e=q[1]
        n=N("call",None,[N("attr",e[1],[n],e[3].k[0].src)]+list(e[2]),e[3].src) if e[0]=="call" else N("sub",None,[n]+list(e[2]),e[3].src)
    return n
def weak(items):
    cc=core_chain(items)
    if cc is not None:
        c={}
        for w,n in items: c[n.d()]=c.get(n.d(),0)+w
        return N(cc.op,cc.v,cc.k,cc.src,("~weak",frozenset([d for d,q in c.items() if q>=1.9]+[cc.d()])))
    c={}
    for w,n in items:
        e=c.setdefault(n.d(),[0,n,0]); e[0]+=w; e[2]+=1
    L=[e for e in c.values() if e[0]>=1.9]
    if not L: 
        e=max(c.values(),key=lambda q:q[0])
    else: e=min(L,key=lambda q:q[1].size())
    n=e[1]
    return N(n.op,n.v,n.k,n.src,("~weak",frozenset(d for d,q in c.items() if q[0]>=1.9)))
def consensus(items):
    tot=sum(w for w,_ in items)
    w,n=wmaj(items)
    if w>tot*0.5: return n
    num=[(w_,q) for w_,q in items if q.op=="const" and isinstance(q.v,(int,float)) and not isinstance(q.v,bool)]
    if sum(w_ for w_,_ in num)>tot*0.5:
        num.sort(key=lambda q:q[1].v); h=sum(w_ for w_,_ in num)/2; a=0
        for w_,q in num:
            a+=w_
            if a>=h: break
        return N("const",q.v,(),q.src,"~median")
    if not n.k: return n
    g={}
    for w,n in items: g.setdefault((n.op,repr(n.v)),[]).append((w,n))
    G=max(g.values(),key=lambda q:sum(w for w,_ in q))
    if sum(w for w,_ in G)<=tot*0.5: return weak(items)
    gt=sum(w for w,_ in G); op,v=G[0][1].op,G[0][1].v
    if op=="call":
        cc=collections.Counter()
        for w,n in G: cc[callee(n)]+=w
        if cc.most_common(1)[0][1]<=gt*0.5: return weak(items)
        q=cc.most_common(1)[0][0]; G=[(w,n) for w,n in G if callee(n)==q]; gt=sum(w for w,_ in G)
    if op=="sub":
        cc=collections.Counter()
        for w,n in G: cc[n.k[1].d()]+=w
        if cc.most_common(1)[0][1]<=gt*0.5: return weak(items)
    if op in("call","dict"):
        pos={}; kws={}
        for w,n in G:
            a=[c for c in n.k if c.op!="kw"]
            pos.setdefault(len(a),[]).append((w,a))
            for c in n.k:
                if c.op=="kw": kws.setdefault(str(c.v),[]).append((w,c))
        A_=max(pos.values(),key=lambda q:sum(w for w,_ in q))
        k=[consensus([(w,a[i]) for w,a in A_]) for i in range(len(A_[0][1]))]
        for q in sorted(kws):
            L=kws[q]
            if sum(w for w,_ in L)>gt*0.5:
                k.append(N("kw",L[0][1].v,[consensus([(w,c.k[0]) for w,c in L])],L[0][1].src))
        return N(op,v,k,G[0][1].src,G[0][1].key)
    if op=="block":
        # medoid: the block sharing most statements with others
        best=max(G,key=lambda q:sum(w*len({c.d() for c in q[1].k}&{c.d() for c in n.k}) -0.01*w*abs(len(n.k)-len(q[1].k)) for w,n in G))
        base=best[1].k
        slots=[[] for _ in base]; ins={}
        for w,n in G:
            al=align(base,n.k)
            for i,j in al:
                if i is not None and j is not None: slots[i].append((w,n.k[j]))
                elif i is None:
                    prev=max([a for a,b in al if a is not None and b is not None and b<j],default=-1)
                    ins.setdefault((prev,n.k[j].d()),[]).append((w,n.k[j]))
        k=[]
        for i in range(-1,len(base)):
            if i>=0 and sum(w for w,_ in slots[i])>gt*0.5: k.append(consensus(slots[i]))
            for (p_,d),L in ins.items():
                if p_==i and sum(w for w,_ in L)>gt*0.5: k.append(L[0][1])
        return N(op,v,k,best[1].src)
    if op in("attr","sub") and all(b[1].d()!=n.d() for b in G[:0]): pass
    if op not in("bin","mul","if","for","while","with","tuple","list","return","do","set","carry","init","kw","arg","comp","dcomp","gen","ifexp","lambda","attr","sub","cmp"):
        return weak(items)
    ar={}
    for w,n in G: ar.setdefault(len(n.k),[]).append((w,n))
    H=max(ar.values(),key=lambda q:sum(w for w,_ in q))
    return N(op,v,[consensus([(w,n.k[i]) for w,n in H]) for i in range(len(H[0][1].k))],H[0][1].src,H[0][1].key)
def head(n):
    if n.op in("do","set","return","carry","init"): 
        c=n.k[0]
        h=n.op
        if c.op=="call":
            f=c.k[0]; h+=":"+(f.v if f.op in("attr","name","fn") else f.op)
        elif n.op=="set" : h+=":"+str(c.v)
        return h
    return n.op
def align(a,b):
    """alignment of two statement lists: pairs (i,j), (i,None), (None,j)"""
    n,m=len(a),len(b)
    ha=[head(x) for x in a]; hb=[head(x) for x in b]
    def sc(i,j):
        if a[i].d()==b[j].d(): return 3
        if ha[i]==hb[j]: return 2 
        return -9
    D=[[0]*(m+1) for _ in range(n+1)]
    for i in range(n-1,-1,-1):
        for j in range(m-1,-1,-1):
            D[i][j]=max(D[i+1][j],D[i][j+1],D[i+1][j+1]+sc(i,j))
    i=j=0; out=[]
    while i<n or j<m:
        if i<n and j<m and D[i][j]==D[i+1][j+1]+sc(i,j) and sc(i,j)>0: out.append((i,j)); i+=1;j+=1
        elif i<n and (j==m or D[i][j]==D[i+1][j]): out.append((i,None)); i+=1
        else: out.append((None,j)); j+=1
    return out
def diff(m,c,out,par=()):
    if m.d()==c.d(): return
    if c.key=="~median":
        if m.op=="const" and isinstance(m.v,(int,float)) and not isinstance(m.v,bool) and (m.v*c.v>0 and 1/3.<=m.v/c.v<=3 or (abs(m.v)>=1000 and abs(c.v)>=1000) or (m.v==0 and abs(c.v)<3)): return
    if isinstance(c.key,tuple) and c.key[0]=="~weak":
        if m.d() in c.key[1] or not c.key[1]: return
    if m.op==c.op and repr(m.v)==repr(c.v):
        if m.op in("call","dict"):
            pm=[x for x in m.k if x.op!="kw"]; pc=[x for x in c.k if x.op!="kw"]
            km={str(x.v):x for x in m.k if x.op=="kw"}; kc={str(x.v):x for x in c.k if x.op=="kw"}
            if len(pm)!=len(pc): out.append(("rep",m,c,par)); return
            p2=par+((m,c),)
            for a,b in zip(pm,pc): diff(a,b,out,p2)
            for q in km:
                if q in kc: diff(km[q].k[0],kc[q].k[0],out,p2+((km[q],kc[q]),))
                else: out.append(("delkw",m,km[q],par+((m,c),)))
            for q in kc:
                if q not in km: out.append(("addkw",m,kc[q],par+((m,c),)))
            return
        if m.op=="block":
            al=align(m.k,c.k); p2=par+((m,c),)
            for i,j in al:
                if i is not None and j is not None: diff(m.k[i],c.k[j],out,p2)
                elif j is None: out.append(("delst",m,m.k[i],p2))
                else:
                    prev=None;nxt=None
                    for a,b in al:
                        if a is not None and b is not None:
                            if b<j: prev=m.k[a]
                            elif nxt is None: nxt=m.k[a]
                    out.append(("addst",m,(c.k[j],prev,nxt),p2))
            return
        if len(m.k)==len(c.k) and m.k and (m.op=="mul" or m.op=="cmp" and m.v in("Eq","NotEq")):
            p2=par+((m,c),)
            a=list(m.k); b=list(c.k)
            for x in list(a):
                y=next((y for y in b if y.d()==x.d()),None)
                if y is not None: a.remove(x); b.remove(y)
            if len(a)==2:
                o1=[];o2=[]
                for x,y in zip(a,b): diff(x,y,o1,p2)
                for x,y in zip(a,b[::-1]): diff(x,y,o2,p2)
                sz=lambda o: sum(10+(q[1].size()+q[2].size() if q[0]=="rep" else 5) for q in o)
                out+=o1 if sz(o1)<=sz(o2) else o2
            else:
                for x,y in zip(a,b): diff(x,y,out,p2)
            return
        if len(m.k)==len(c.k) and m.k:
            p2=par+((m,c),)
            for a,b in zip(m.k,c.k): diff(a,b,out,p2)
            return
    out.append(("rep",m,c,par))
class Kind:
    """consensus of one kind"""
    def __init__(s,p,others,st):
        s.st=st; s.p=p
        K=[q for q in others if q.kind==p.kind]
        s.K=K
        tg=collections.Counter(q.text for q in K)
        PS=[(q,normal(q,st)[1]) for q in K+[p]]
        maps=cluster(PS)
        s.ren=maps[-1]
        s.W=sum(1.0/tg[q.text] for q in K)
        items=collections.defaultdict(list)
        s.names=collections.defaultdict(list)
        for q,m in zip(K,maps):
            S,c=canonset(q,st,m)
            for k,d in c.items():
                items[k].append((1.0/tg[q.text],d["tree"])); s.names[k].append((q,d))
        s.cons={}; s.wt={}
        s.npar={k:collections.Counter(len([q for q in d["r"]["params"] if q[1] not in("CFG","SELF") and q[2] is None]) for _,d in L).most_common(1)[0][0] for k,L in s.names.items()}
        for k,L in items.items():
            w=sum(a for a,_ in L); s.wt[k]=w/s.W
            if w>0.5*s.W:
                t=consensus(L)
                t2=consensus([(a,b) for a,b in L])
                s.cons[k]=t
    def diffs(s,p=None):
        p=p or s.p
        S,c=canonset(p,s.st,s.ren)
        out=[]
        # bottom up: small functions first
        for k in sorted(c,key=lambda k:c[k]["tree"].size()):
            if k in s.cons:
                o=[]; diff(c[k]["tree"],s.cons[k],o)
                np_=len([q for q in c[k]["r"]["params"] if q[1] not in("CFG","SELF") and q[2] is None])
                if np_!=s.npar.get(k,np_): o=[x for x in o if x[0]!="rep" or not(x[1].op=="name" or x[2].op=="name")]
                out+=[(k,c[k])+x for x in o]
            
        miss=[k for k in s.cons if k not in c]
        extra=[k for k in c if k not in s.cons]
        return S,c,out,miss,extra
def load(folder,over=None):
    p=sym.Project(folder,over); prep(p); return p
if __name__=="__main__":
    P=[load(f) for f in sorted(glob.glob("tickets/*"))]
    only=sys.argv[1:] 
    for p in P:
        if only and p.folder[-4:] not in only: continue
        others=[q for q in P if q.text!=p.text]
        st=Stats(others)
        K=Kind(p,others,st)
        S,c,out,miss,extra=K.diffs()
        seen=set()
        print("#####",p.folder[-4:],p.kind[:20],"|",p.text[9:100],"| miss",[(k,K.names[k][0][1]["name"]) for k in miss],"extra",[c[k]["name"] for k in extra])
        for k,d,t,m,x,par in out:
            node=m if t in("rep","addkw","delst","addst") else x
            if t=="delst": node=x
            key=(t,(node.src[0],node.src[2].lineno,node.src[2].col_offset) if node.src and hasattr(node.src[2],"lineno") else id(node),x.v if t=="delkw" or t=="addkw" else "")
            if key in seen: continue
            seen.add(key)
            loc="%s:%s"%(node.src[0],getattr(node.src[2],"lineno","?")) if node.src else "?"
            if t=="rep": print("  ",t,d["name"],loc,m.show(4)[:150]," --> ",x.show(4)[:150])
            elif t=="addst": print("  ",t,d["name"],loc,x[0].show(5)[:200])
            else: print("  ",t,d["name"],loc,callee(m) if m.op=="call" else m.op,x.show(5)[:200])
