/// Recognizes names below which anybody can register a name, such as `com`, `co.uk` and `github.io`. No host may set a cookie for all names
/// below them. A site is the name that somebody registered, with all names below it.
///
/// The rules are short, and do not cover the whole public suffix list:
/// - a name of one label
/// - below a country's two letters: labels for kinds of owners, such as `co` or `gov`, and labels that the country's registry defines
/// - every label below a country whose registry allows no other registration
/// - the labels of regions below which some countries register cities, schools or libraries
/// - the names of well-known hosts of user sites
package enum PublicSuffix {
    /// Checks whether a name is a public suffix.
    /// - Parameter name: A host's name, in lower case.
    package static func contains(_ name: String) -> Bool {
        contains(labels(of: name)[...])
    }

    /// Returns the site of a host: the longest public suffix of its name, and the label before it. A public suffix and an address are sites
    /// by themselves.
    /// - Parameter host: The host, in lower case.
    package static func site(of host: String) -> ExactText {
        if ParsedURL.isAddress(host: host) { return ExactText(host) }
        let labels = labels(of: host)
        // No rule has more labels than four.
        let length = (1...4).reversed().first { $0 <= labels.count && contains(labels.suffix($0)) }
        guard let length, length < labels.count else { return ExactText(host) }
        return ExactText(labels.suffix(length + 1).joined(separator: "."))
    }

    private static func labels(of name: String) -> [String] {
        name.utf8.split(separator: UInt8(ascii: ".")).map { String(Substring($0)) }
    }

    private static func contains(_ labels: ArraySlice<String>) -> Bool {
        guard labels.count > 1, let country = labels.last else { return true }
        if labels.count <= 3, hosts.contains(labels.joined(separator: ".")) { return true }
        guard country.utf8.count == 2 else { return false }
        let labels = Array(labels), second = labels[labels.count - 2], isSuffix = isSuffix(second, below: country)
        switch labels.count {
        case 2: return isSuffix
        case 3: return isSuffix && isSuffix3(labels[0], second, country)
        case 4: return country == "us" && isSuffix && labels[1] == "k12" && ["pvt", "chtr", "paroch"].contains(labels[0])
        default: return false
        }
    }

    private static func isSuffix(_ label: String, below country: String) -> Bool {
        everyLabel.contains(country) || kinds.contains(label) || labels[country]?.contains(label) == true
            || (["cn", "it", "no", "ua", "us"].contains(country) && label.utf8.count == 2)
    }

    /// Checks a third label before a second label that is a suffix itself.
    private static func isSuffix3(_ third: String, _ second: String, _ country: String) -> Bool {
        switch (country, second) {
        case ("jp", _): regionsOfJapan.contains(second)
        case ("us", _): second.utf8.count == 2 && ["k12", "cc", "lib", "tec", "gen", "cog", "dst", "mus", "state"].contains(third)
        case ("uk", "sch"), ("br", "nom"): true
        case ("au", "edu"), ("au", "gov"): regionsOfAustralia.contains(third)
        case ("br", "gov"), ("br", "leg"), ("br", "mil"), ("it", "gov"): third.utf8.count == 2
        default: false
        }
    }

    private static func words(_ text: String) -> Set<String> { Set(text.split(separator: " ").map(String.init)) }

    /// The labels for kinds of owners that most countries with such labels have.
    private static let kinds = words("ac co com edu gob gouv gov govt gv ltd mil net nom org plc sch")
    /// The countries below which every second label is a suffix.
    private static let everyLabel = words("bd ck er fk jm kh mm np pg")
    private static let regionsOfAustralia = words("act nsw nt qld sa tas vic wa catholic")
    private static let regionsOfJapan = words(
        """
        aichi akita aomori chiba ehime fukui fukuoka fukushima gifu gunma hiroshima hokkaido hyogo ibaraki ishikawa iwate kagawa kagoshima \
        kanagawa kochi kumamoto kyoto mie miyagi miyazaki nagano nagasaki nara niigata oita okayama okinawa osaka saga saitama shiga \
        shimane shizuoka tochigi tokushima tokyo tottori toyama wakayama yamagata yamaguchi yamanashi kawasaki kitakyushu kobe nagoya \
        sapporo sendai yokohama
        """)

    /// The further labels that registries of countries define.
    private static let labels: [String: Set<String>] = [
        "ae": words("name pro"), "ao": words("ed og pb it"), "ar": words("bet coop int musica mutual senasa tur"), "at": words("or"),
        "au": words("asn conf id info oz \(regionsOfAustralia.joined(separator: " "))"), "az": words("biz info int name pp pro"),
        "bo": words("academia agro arte blog int tv web"),
        "br": words(
            """
            abc adm adv aero agr am app arq art ato b bib bio blog bmd cim cng cnt coop coz des det dev ecn eco emp enf eng esp etc eti far \
            flog fm fnd fot fst g12 geo ggf imb ind inf jor jus leg lel log mat med mus not ntr odo ong ppg pro psc psi qsl radio rec rep \
            seg slg social srv taxi tc tec teo tmp trd tur tv vet vlog wiki xyz zlg
            """),
        "ca": words("ab bc gc mb nb nf nl ns nt nu on pe qc sk yk"), "cl": words("coop"), "co": words("arts firm info int nom rec web"),
        "cr": words("ed fi go or sa"), "cy": words("biz ekloges name parliament press pro tm"), "do": words("art sld web"),
        "ec": words("fin info med pro k12"), "eg": words("eun me name sci sport tv"), "es": words("nom"), "fj": words("biz info name pro"),
        "fr": words("asso prd tm"), "hk": words("idv"), "hr": words("from iz name"),
        "hu": words(
            """
            2000 agrar bolt casino city erotica erotika film forum games hotel info ingatlan jogasz konyvelo lakas media news priv reklam \
            sex shop sport suli szex tm tozsde utazas video
            """),
        "id": words("biz desa go my or ponpes web"), "il": words("idf k12 muni"), "im": words("tt tv"),
        "in": words(
            """
            ai am bihar biz business ca cn coop cs delhi dr er firm gen gujarat ind info int internet io me nic pg post pro res travel \
            tv uk up us
            """),
        "ir": words("id"),
        "jp": words("ad ed go gr lg ne or \(regionsOfJapan.joined(separator: " "))"),
        "ke": words("go info me mobi ne or sc"),
        "kr": words(
            """
            ai busan chungbuk chungnam daegu daejeon es gangwon go gwangju gyeongbuk gyeonggi gyeongnam hs incheon io it jeju jeonbuk \
            jeonnam kg me ms ne or pe re sc seoul ulsan
            """),
        "kw": words("emb ind"), "lk": words("assn grp hotel int ngo soc web"), "lv": words("asn conf id"),
        "ma": words("press"), "my": words("biz name"), "ng": words("i mobi name"), "ni": words("biz in info int web"),
        "nz": words("cri geek gen health iwi kiwi maori parliament school"), "pa": words("abo ing med sld"), "ph": words("i ngo"),
        "pk": words("biz fam gkp gog gok gop gos info web"),
        "pl": words(
            """
            agro aid atm auto biz gmina gsm info mail media miasta nieruchomosci pc powiat priv realestate rel sex shop sklep sos szkola \
            targi tm tourism travel turystyka bialystok bydgoszcz gdansk gdynia katowice krakow lodz lublin olsztyn opole poznan radom \
            rzeszow sopot szczecin torun warszawa waw wroc wroclaw zgora
            """),
        "pr": words("biz est info isla name pro prof"), "pt": words("int nome publ"), "ro": words("arts firm info nt rec store tm www"),
        "rs": words("in"), "rw": words("coop"), "sa": words("med pub"),
        "se": words(
            """
            a b bd brand c d e f fh fhsk fhv g h i k komforb kommunalforbund komvux l lanbib \
            m n naturbruksgymn o org p parti pp press r s t tm u w x y z
            """),
        "sg": words("per"), "sv": words("red"), "th": words("go in mi or"), "tj": words("biz go int name nic test web"),
        "tn": words("ens fin ind info intl mincom nat perso tourism"),
        "tr": words("av bbs bel biz dr gen info k12 kep name pol tel tsk tv web"), "tt": words("biz info name pro"),
        "tw": words("club ebiz game idv"), "tz": words("go hotel info me mobi ne or sc tv"),
        "ua": words(
            """
            cherkassy cherkasy chernigov chernihiv chernivtsi chernovtsy crimea dnepropetrovsk dnipropetrovsk donetsk in ivano-frankivsk \
            kharkiv kharkov kherson khmelnitskiy khmelnytskyi kiev kirovograd krym kyiv lugansk luhansk lutsk lviv mykolaiv nikolaev odesa \
            odessa poltava rivne rovno sebastopol sevastopol sumy ternopil uz uzhgorod vinnica vinnytsia volyn yalta zaporizhzhe \
            zaporizhzhia zhitomir zhytomyr
            """),
        "ug": words("go ne or sc"), "uk": words("me nhs police"), "us": words("dni fed isa kids nsn"), "uy": words("gub"),
        "ve": words("arts bib e12 firm gob info int rar rec store tec web"),
        "vn": words("ai biz health id info int io name pro"), "za": words("agric alt grondar law ngo nic nis school tm web"),
    ]

    /// The names of hosts below which anybody can have a site.
    private static let hosts = words(
        """
        amplifyapp.com appspot.com azureedge.net azurestaticapps.net azurewebsites.net backblazeb2.com bitbucket.io blogspot.com \
        cloudapp.azure.com cloudapp.net cloudfront.net codesandbox.io deno.dev dyndns.org elasticbeanstalk.com firebaseapp.com \
        fly.dev github.dev github.io githubpreview.dev gitlab.io glitch.me herokuapp.com hf.space hosted.app ngrok-free.app ngrok.io \
        netlify.app now.sh onrender.com pages.dev pythonanywhere.com r2.dev up.railway.app readthedocs.io repl.co replit.app \
        replit.dev run.app s3.amazonaws.com myshopify.com streamlit.app surge.sh translate.goog trycloudflare.com \
        vercel.app vercel.dev web.app webflow.io wixsite.com wordpress.com workers.dev
        """)
}
