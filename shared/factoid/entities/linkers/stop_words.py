"""Words of English questions that are not names on their own, in lower case.

They may be part of a name ("The Who").
"""

from __future__ import annotations

ARTICLES = frozenset("the a an".split())

# Before a noun they ask for it: in "Which band wrote it?", "band" says what the answer is, not what
# "it" is.
DETERMINERS_OF_QUESTIONS = frozenset("what which whose".split())

QUESTION_WORDS = frozenset(
    "who whom whose what which when where why how whatever whoever whichever".split()
)

# Question words, pronouns, forms of verbs, prepositions, conjunctions, adverbs.
FUNCTION_WORDS = QUESTION_WORDS | frozenset(
    """
    i me my mine myself we us our ours ourselves you your yours yourself he him his himself she her
    hers herself it its itself they them their theirs themselves one ones this that these those
    someone somebody something anyone anybody anything everyone everybody everything noone nobody
    nothing be am is are was were been being have has had having get gets got do does did doing done
    can could will would shall should may might must ought cannot isn aren wasn weren hasn haven
    hadn doesn don didn won wouldn couldn shouldn ain let lets s t re ve ll d m of in on at by for
    with from to into onto upon about above across after against along amid among around as before
    behind below beneath beside besides between beyond despite down during except inside like near
    off out outside over past per since than through throughout till toward towards under underneath
    until up via within without and or but nor so yet if then else because although though while
    whereas whether unless not no yes all any both each either neither every few many more most much
    less least other others another own same several some such only just also too very even ever
    never always often sometimes again already still now here there once first last next however
    therefore moreover meanwhile furthermore instead later today
    """.split()
)

# Words that begin a command, and the verbs and nouns of almost every question.
COMMON_WORDS = frozenset(
    """
    name list tell give describe explain define find show state compare say know mean means called
    named known kind type sort many much long far old often born die died dies dead live lives lived
    work works worked come comes came go goes went take takes took make makes made use used happen
    happened become became begin began start started end ended play plays played write writes wrote
    written found founded create created produce produced perform performed locate located educate
    educated marry married own owns owned famous represented win wins won speak speaks spoke time
    times year years month months week weeks day days people person thing things place places part
    parts
    """.split()
)

# Adjectives, adverbs and verbs of most texts: in lower case they are rarely somebody's title.
# Counted in the treebanks UD English EWT and PUD (forms that occur 25 times, seldom as a noun),
# without words of the news.
PLAIN_WORDS = frozenset(
    """
    able absolutely according active actually add added additional advanced ago allowed almost alone
    amazing anyway approved ask asked attached attend available average away awesome back bad based
    basic beautiful believe best better big black blank bring brought busy buy certain certainly
    changed cheap check civil clean clear clearly close comfortable coming completely considered
    continue correct current currently cut daily dead decided definitely different direct discuss
    discussed drive due earlier early easy eat eating economic empty enjoy enjoyed enough entire
    especially excellent expect expensive extra extremely fair fantastic fast favorite feed feel
    felt fight final finally financial fine fit five fixed follow following former forward four free
    fresh friendly full further gave getting given giving global going gone good great green guess
    handle happy hard hear heard held help helpful hidden high highly hit hold hope horrible hot
    huge human immediately important include including initial interested international involved
    keep kept key killed knew large late lead learn leave leaving left legal likely little living
    local longer look looked looking looks lost love main major making maybe meet mentioned met
    million modern move moved moving national natural nearly necessary need needed needs new nice
    northern official online open otherwise overall paid particular pass pay perfect perhaps
    personal pick planning please plus political poor possible posted premium present pretty private
    probably professional provide provided public put quick quickly quite rather read ready real
    really reasonable receive received recent recently recommend recommended related released remain
    remember reported returned right rude run running safe said save saw saying says second see
    seeing seem seems seen send sent set short signed significant simple simply single six small
    social soon sorry sounds special spent standard starting stay stop strong sure taken taking talk
    talking thank think thinking third thought three together told total treat treated tried true
    trust try trying turn twice two understand united using usually visit visited wait waiting walk
    want wanted wants warm watch well western white whole willing wish wonderful working worst wrong
    young
    """.split()
)

# Nouns, verbs, adjectives and adverbs of three to five letters: in lower case they are rarely an
# acronym of the same letters ("CAT", "AIDS"). Counted in the treebanks UD English EWT and PUD
# (forms that occur 8 times, with or without the "s" of a plural or verb), without the words above.
SHORT_WORDS = frozenset(
    """
    abuse act adult age agent agree ahead aid air allow apply area argue arm armed army art
    aside asset audit avoid award aware awful baby bag ball band bank bar base basis beach bear
    beat bed beer begun belt bet bike bill bird birth bit bite blame blind block blog blood blow
    blown blue board boat body bomb book bowl box boy brand break brief broke buck build built
    bulb bunch bus buses cabin cage cake call cap car card care carry case cash cast cat catch
    cause cell cent chain chair chef chess chief child chose city claim class click club coast
    code cold color cool copy cost count coup court cover crap crew crime crop cross crowd crude
    cup curve cute dad dance dark data date dated deal death debt deep delay desk dirty dish dog
    door doubt draft draw dress drill drink drop drove drug dry duty earth east eaten edge egg
    enemy enter equal error euro event exact exist eye face faced fact faith fall false fan fat
    favor faxed fear fee feet field file filed fill film fire firm fish fix flat floor flow
    fluid fly focus folk food foot force form forth forum fries front fuel fully fun fund gain
    game gas gay gift girl glad glass goal grab grew gross group grow grown guard guest guide
    gun guy hair half hall hand hate head heart heat heavy heel hell hide hire home horse host
    hotel hour house hurt ice idea image inner issue item job join judge jump kid kill king lack
    lady land laser law lay leash led leg level lie life light liked limit line link load loose
    loss lot loved low lower luck lucky lunch mad mail male mama man map mark mass mate meal
    meant meat media memo men menu metal mile mind miss mixed model mold mom money moon moral
    mouse mouth movie music nail neck nest net newly news night noise noon north notch note
    noted occur offer oil okay older order outer owner pack page pain pair panel paper park
    party path peace pet phase phone photo pie piece pig pilot pizza plain plan plane plant
    plate plot point polar pool port pose post power press price print prior prize proof proud
    prove pub pull puppy push quiet quote race rain raise ran range rare rat rate ray reach
    rebel red refer reply rest rice rich ride rise risk river road rock role roll roof room
    round route rule safer sake salad sale salon scene score screw sea seat seek self sell sense
    serve shape share shed sheet ship shoe shoot shop shot shown shut sick side sight sign sink
    sit site size skill sleep slice slow smart smell smoke snake soft soil sold son song sound
    south space speed spend sport spot spray staff stage stand star steak step stick stock store
    storm story stuck study stuff style suit sun super sweet table tank task taste tax taxes
    team teeth tend term test text throw thus tight tip tire title toe toll ton tool top touch
    tough tour town toxic toy track trade trail train trial tribe trip trot truck truly truth
    unit upper urban user usual value vast vet video view visa vital voice vote voted wake wall
    war waste water wave way wear web west wheel wide wife wind wine wing wolf woman women wood
    word world worm worry worse worth
    """.split()
)

# with a capital inside a sentence: "Time", the month, the person
NAMES_IN_CAPITALS = COMMON_WORDS | {"may", "will"}
STOP_WORDS = ARTICLES | FUNCTION_WORDS | COMMON_WORDS
