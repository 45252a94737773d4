"""Abbreviations of languages, and the language of a text by its function words.

What is a word of another language ("gem.", "os.") is an abbreviation only where the text is in its
language. What is an abbreviation wherever it stands ("núm.", "Dott.", "проф.") holds in any text:
cells and headings are too short to tell.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice


@dataclass(frozen=True)
class Language:
    """The words that tell abbreviations from ends of sentences in a language.

    All words are in lower case, but for some titles; abbreviations are without their last full
    stop.
    """

    # The language is known by them; capitalised, they start a sentence behind an abbreviation.
    function_words: frozenset[str]
    open: frozenset[str]  # before a name or a clause, never at the end of a sentence
    closing: frozenset[str]  # may end a sentence: before a function word they do
    numbers: frozenset[str]  # before numbers only


def _language(
    function_words: str,
    *,
    open: str = "",  # noqa: A002
    closing: str = "",
    numbers: str = "",
) -> Language:
    words = function_words.split()
    return Language(
        frozenset(words),
        OPEN.union(open.split()),
        _CLOSING.union(closing.split()),
        _NUMBERS.union(numbers.split()),
    )


# In any text.
OPEN = frozenset(
    # English
    "dr mr mrs ms mx prof st sts gen col lt cmdr capt sgt maj adm rev hon gov sen rep pres fr msgr "
    "mt ft messrs mme mlle vs v viz cf ca c fl b d e.g i.e eg ie approx est art ch eq eqs fig figs "
    "no nos nr p.s pp p pg vol vols sec ed eds trans dept univ assn bros incl excl resp tel supt "
    "brig cpl n° nº № "
    # German
    "nr abs bzw bspw evtl exkl ggf hr hrn inkl sog vgl zzgl dipl.-ing dr.-ing bzgl hrsg kath urspr "
    "rdnr dr.med "
    # French, Spanish, Italian, Portuguese
    "mmes mlles mgr vve éd éds env tél ex sra srta sres sras srs dra drs dña arq gral cnel tte "
    "excmo excma ilmo ilma fdo avda pza ctra p.ej aprox admón núm núms pág págs párr párrs párrf "
    "tfno sigg sig.ra sig.na dott dott.ssa prof.ssa avv geom egr spett ecc.mo on.le pagg exmo exma "
    "profa "
    # These with a capital only
    "Ing Sig Av Sta Sto Ir Jhr Mons Rag Lic Urb Const Cad Mah Sok Blv Bulv "
    # Dutch, Polish, Czech, Danish, Swedish, Norwegian, Turkish
    "ul dhr mevr bijv blz m.b.t t.a.v i.v.m inż hab ppłk płk tzw godz zob mudr judr phdr tzv např "
    "napr skt dvs f.eks bl.a mht tlf doç yrd bkz "
    # Russian, Ukrainian, Bulgarian, Kazakh
    "проф акад доц ул просп наб см ср напр рис табл стр св тов вул бул инж т.е т.к т.н "
    # Greek, Hindi, Arabic
    "κ κκ σελ π.χ δηλ βλ τηλ डॉ प्रो श्री कु मो रु أ.د د.ا".split()
)
_CLOSING = frozenset(
    "inc ltd co corp jr sr etc al ave blvd rd bd cie esq a.m p.m am pm b.c a.d bc ad ph.d "
    "m.d d.c deg u.s u.k u.n e.u jan feb mar apr jun jul aug sep sept oct nov dec mon tue tues "
    "wed thu thur thurs fri sat sun cit usw mio mrd tsd enz itd itp osv atd ltda ecc s.a s.p.a "
    "s.r.l ee.uu "
    "т.д т.п руб тыс млн млрд н.э κ.λπ κλπ".split()
)
_NUMBERS = frozenset(
    "max min cl cls para paras par pars sch scheds app apps appx ext ver sec secs sect "
    "sects subs subsec subpara pt pts ref refs reg regs arts arg ann annex bk bks chap "
    "chaps cols temp def exh fn fol fasc illus lect ln mod ms mss ord prob prop prot rm rs ser "
    "sess stat supp suppl tab thm tit var vv rte hwy apt bldg pos item pl op rule cap caps "
    "lit abb anl anm kap ziff bde buchst abschn lfd jg aufl réf tabl inc artt capp apdo "
    "pta all ust pkt rys poz ryc rozdz hfst afb bijl kl čl гл разд прил вып пп тел".split()
)
# Words of English as well: what follows must look like a reference. "App. 3 of the Act", but
# "I opened the app. 3 days later …".
COMMON = frozenset(
    "app apps ext mod prop def arg par pars pos item tab ref stat prob var ann annex rule "
    "ser cap caps lit inc ill cat dim doc res spec".split()
)
# A clause may end with them: "He said no. They left."
WORDS_TOO = frozenset("no v c b d art est ed ul".split())


ENGLISH = _language(
    "a an the this that these those he she it they we you i his her its their our my in on at by "
    "for from with without to as after although among and another before because between but "
    "during despite each either even every few following further furthermore hence however if "
    "instead like many meanwhile more moreover most much neither nevertheless no nor not "
    "nonetheless once one only or other others please thanks over several similarly since so some "
    "soon such then there therefore though through thus today together under unlike until upon "
    "what when where whereas whether which while who why within yet both all any of how later here "
    "also did do does is are was were can could would should",
    open="asst assoc atty insp mgr pty pvt",
    numbers="amt avg cat dim doc qty res spec ste",
)
GERMAN = _language(
    "aber als am auch auf aus bei bis bitte da damit dann das dazu dem den der des die dies diese "
    "dieser dieses doch durch ein eine einem einen einer eines er es für hier ich ihr ihre im in "
    "ist jede jeder kein keine man mit nach nicht nur sein seine seit sie sind so um und vom von "
    "vor wann war warum was weil wenn wer werden wie wir wird wo zu zum zur zudem",
    open="s fa gem o od med phil jur lt allg ev gegr geb gest verw u str bgbl rgbl "
    "abl gvbl bstbl drs",
    closing="jh jhd v.chr n.chr std mill chr h",
    numbers="bd satz art s",
)
FRENCH = _language(
    "le la les un une des du de et est en dans que qui pour pas sur avec il elle ils elles nous "
    "vous ce cette ces son sa ses au aux par plus mais ou où on je tu leur leurs lors après avant "
    "selon depuis cependant ainsi puis sont à",
    open="m mm pr me chap coll av apr boul pl bd",
    closing="j.-c c",
    numbers="t al",
)
SPANISH = _language(
    "el la los las un una unos unas de del y es en que para por con no se su sus al lo como más "
    "pero este esta estos estas ese esa él ella ellos según también desde cuando donde sobre "
    "entre son fue ha hay después además",
    open="sr av da ing pdte ud uds vd vds cap col lic mons urb ee ej dn dto dpto",
    closing="uu hs c lun mié jue vie sáb dom ene abr ago dic",
    numbers="t inc",
)
ITALIAN = _language(
    "il lo la gli le un uno una di del della dei degli delle che e è in nel nella per con non si "
    "su al alla da dal dalla come più ma questo questa questi quello sono anche dopo secondo "
    "quando dove io lui lei noi essi ha",
    open="sig rag gent mons ing arch on cap cav comm pag nn es sez lett",
    numbers="co n par t",
)
PORTUGUESE = _language(
    "o a os as um uma de do da dos das e é em no na nos nas que para por com não se seu sua ao à "
    "como mais mas este esta isso ele ela eles elas nós você também após segundo quando onde foi "
    "são há depois além já",
    open="sr eng av pe r gal cel cap pç",
    numbers="inc n t",
)
DUTCH = _language(
    "de het een en van in is dat die op te zijn met voor niet aan er om ook als dan maar bij nog "
    "naar uit door over ze hij zij we wij ik je u deze dit wordt werd heeft was na sinds hun haar "
    "volgens toen",
    open="mw ir ing jhr nl o.a d.w.z evt bv jl zgn afd",
    closing="e.d e.a n.v b.v n.chr v.chr",
    numbers="lid",
)
POLISH = _language(
    "i w na z do się nie to jest że o jak za po od ale co przez dla są była był było który która "
    "które tym tego już ten ta te on ona oni czy oraz jego jej ich może tylko według gdy kiedy "
    "więc jednak potem ponadto przy a",
    open="ul św ks mjr kpt por ppor np tj al im woj pow gm ok tzn pt wg red tłum os pl abp bp sp "
    "m.in str min nadkom podkom sierż",
    closing="r in gr w rr n.e p.n.e",
    numbers="s t m",
)
RUSSIAN = _language(
    "и в во не на я он она оно они мы вы с со что а по это как но из у к за от то же его её их "
    "для о об до или при так также если когда где после кроме затем однако этот эта эти был была "
    "было были там тогда поэтому согласно потом",
    open="пгт им пер пл ген т п с д кв корп р о оз пос дер обл ст ред тов гр",
    closing="г гг в вв др пр коп",
    numbers="п ст ч т с кв",
)
DANISH = _language(  # and Norwegian
    "og i at det den der er en et til på for med af av som ikke ikkje hun han de vi jeg jeg var "
    "fra har hvad hva hvor efter etter men også om kan blev ble sig seg hans hendes denne dette "
    "da når så nu skal vil havde mod over under",
    open="st sml vedr ca evt pga inkl ekskl kr nr",
    closing="osv m.m m.v mv mio mia f.kr e.kr jr kbh",
    numbers="s bd stk",
)
SWEDISH = _language(
    "och i att det den en ett är till på för med av som inte hon han de vi jag var från har vad "
    "hur efter men också om kan blev sig hans hennes denna detta då när så nu ska skall vill hade "
    "mot över under eller",
    open="st s.k bl.a t.ex d.v.s resp fr.o.m t.o.m ca ev p.g.a inkl exkl kr",
    closing="osv m.m m.fl etc f.kr e.kr milj",
    numbers="s kap bd",
)
CZECH = _language(  # and Slovak
    "a v na se je z že do s k o i pro by za jako po ale od které který která jsou byl byla bylo "
    "to ve si jeho její nebo také ten tato toto podle když však už jen při sa sú bol bola aj ako "
    "podľa keď pre ktorý ktorá čo",
    open="tzv mj sv p pí ing mgr bc ul nám např napr resp str tř okr gen plk por kpt",
    closing="atd apod aj tj r s.r.o a.s o.s kč mil mld n.l tis",
    numbers="č čl odst s str písm obr tab kap sb",
)
TURKISH = _language(
    "ve bir bu da de için ile çok olan olarak gibi daha ne ama o ki en her kadar sonra ya ise mi "
    "var değil şu ben sen biz onun",
    open="av yrd doç op uzm sn alb yzb cad mah sok apt örn bkz",
    closing="vb vs m.ö m.s a.ş ltd",
    numbers="s sf md no",
)
GREEK = _language(
    "και το του η της να ο την τον οι τα των με για από που στο στη στην στον δεν θα είναι σε "
    "τους τις ένα μια ότι αυτό όταν αλλά",
    open="κ κκ κα δρ καθ αρ σελ βλ π.χ δηλ λεωφ οδ αγ",
    closing="κ.λπ κλπ μ.μ π.μ μ.χ π.χρ ευρ δισ εκ χιλ",
    numbers="σελ αρ παρ κεφ τ",
)
ROMANIAN = _language(
    "și şi la cu pe din de că este sunt un o care nu se pentru în al ai ale lui să mai prin "
    "această acest după când sau fost dar el ea ei ele unde s-a din între până",
    open="dl dna dlui d-na d-l d-lui d-nei ing str bd jud com pag alin",
    closing="ș.a ş.a",
    numbers="pag alin lit cap ap et sc bl s",
)
FINNISH = _language(
    "ja on ei se että hän oli myös kun joka mutta ovat tai niin kuin ne sen mukaan jos minä sinä "
    "tämä nämä jo vain sekä hänen siitä ole hänet sitten",
    open="esim ns mm ks vrt toim tri nk",
    numbers="klo s nro puh",
)
VIETNAMESE = _language(
    "và của là có được trong cho không với các một những người này từ đến ở tại ông bà theo đã "
    "về khi",
    open="tp TS ThS GS PGS BS KS",
    numbers="q p đ",
)
LANGUAGES = (
    ENGLISH,
    GERMAN,
    FRENCH,
    SPANISH,
    ITALIAN,
    PORTUGUESE,
    DUTCH,
    POLISH,
    RUSSIAN,
    DANISH,
    SWEDISH,
    CZECH,
    TURKISH,
    GREEK,
    ROMANIAN,
    FINNISH,
    VIETNAMESE,
)

# The languages of each function word.
_NUMBERS_OF_LANGUAGES: dict[str, list[int]] = {}
for _number, _one in enumerate(LANGUAGES):
    for _function_word in _one.function_words:
        _NUMBERS_OF_LANGUAGES.setdefault(_function_word, []).append(_number)

# All abbreviations of all languages.
ABBREVIATIONS = frozenset[str]().union(
    *(language.open | language.closing | language.numbers for language in LANGUAGES)
)

_WORD = re.compile(r"[^\W\d_]+")
_ENOUGH = 300  # words that tell the language of a text


def language_of(text: str) -> Language:
    """Return the language whose function words a text has most of, English if none has any."""
    occurrences = [0] * len(LANGUAGES)
    for match in islice(_WORD.finditer(text), _ENOUGH):
        for number in _NUMBERS_OF_LANGUAGES.get(match[0].lower(), ()):
            occurrences[number] += 1
    return LANGUAGES[occurrences.index(max(occurrences))]
