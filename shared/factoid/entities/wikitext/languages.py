"""English names of the languages that the templates of foreign words name by their codes."""

from __future__ import annotations

LANGUAGES = {
    code: name.replace("_", " ")
    for code, name in (
        pair.split(":")
        for pair in (
            "ar:Arabic az:Azerbaijani be:Belarusian bg:Bulgarian bn:Bengali ca:Catalan cs:Czech cy:Welsh da:Danish de:German "
            "el:Greek en:English es:Spanish et:Estonian eu:Basque fa:Persian fi:Finnish fr:French ga:Irish gd:Scottish_Gaelic "
            "gl:Galician grc:Ancient_Greek he:Hebrew hi:Hindi hr:Croatian hu:Hungarian hy:Armenian id:Indonesian is:Icelandic "
            "it:Italian ja:Japanese ka:Georgian kk:Kazakh ko:Korean ku:Kurdish la:Latin lt:Lithuanian lv:Latvian mk:Macedonian "
            "ms:Malay mt:Maltese nl:Dutch no:Norwegian pl:Polish ps:Pashto pt:Portuguese ro:Romanian ru:Russian sa:Sanskrit "
            "sk:Slovak sl:Slovene sq:Albanian sr:Serbian sv:Swedish ta:Tamil te:Telugu th:Thai tl:Tagalog tr:Turkish "
            "uk:Ukrainian ur:Urdu uz:Uzbek vi:Vietnamese yi:Yiddish zh:Chinese"
        ).split()
    )
}
