extension InspectorPage {
    /// The style, in CSS.
    static let style = #"""
        :root {
          color-scheme: light dark;
          --surface: #ffffff; --raised: #f5f6f8; --line: #e1e5ea; --strong-line: #8a949f; --text: #1b1f24; --dim: #57606a;
          --accent: #0b5cad; --bad: #b3261e; --warn: #845400; --good: #1a7037; --selected: #e3eefb; --hover: #f0f3f7;
          --dns: #0b8585; --connect: #b8740a; --tls: #8340c0; --waiting: #2c9347; --receiving: #1f6fd6;
          --hostQueue: #69737f; --throttle: #8a6512; --refreshWait: #d0508f; --refresh: #b01560; --retry: #d0450b;
          --pause: #7d8a00; --network: #2b2f9e; --decode: #7d5a3c;
          --columns: 56px 58px minmax(0, 1fr) 70px 132px 42px 66px 68px 34px; --list: 700px; --gutter: 34px; --row: 26px;
          --mono: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace;
        }
        @media (prefers-color-scheme: dark) {
          :root {
            --surface: #14171b; --raised: #1c2026; --line: #2b3139; --strong-line: #6b7682; --text: #e3e7eb; --dim: #9ba5b0;
            --accent: #75b4ff; --bad: #ff8f87; --warn: #e6b85c; --good: #70d090; --selected: #1c3048; --hover: #1e232a;
            --dns: #35b8b8; --connect: #e0a23c; --tls: #b58cf0; --waiting: #52bd6d; --receiving: #5b9ffa;
            --hostQueue: #97a1ad; --throttle: #c9a250; --refreshWait: #f090c0; --refresh: #f0609f; --retry: #fa8450;
            --pause: #c2cf3a; --network: #9aa2ff; --decode: #c8a583;
          }
        }
        @media (min-width: 1500px) { :root { --list: 860px; } }
        @media (max-width: 1100px) {
          :root { --search: 110px; --filter: 118px; --list: 494px; --columns: 54px 54px minmax(0, 1fr) 70px 132px 66px 30px; --gutter: 30px; }
          [data-column="tries"], [data-column="bytes"] { display: none; }
        }
        @media (max-width: 620px) {
          :root { --list: 262px; --columns: 50px minmax(0, 1fr) 58px 26px; --gutter: 26px; }
          [data-column="method"], [data-column="source"], [data-column="time"] { display: none; }
        }
        * { box-sizing: border-box; }
        [hidden] { display: none !important; }
        body {
          margin: 0; height: 100vh; height: 100dvh; display: flex; flex-direction: column; overflow: hidden;
          background: var(--surface); color: var(--text); font: 12px/1.45 system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif;
          font-variant-numeric: tabular-nums;
        }
        h1, h2, h3, p, dl, dd, ol, ul, pre { margin: 0; padding: 0; }
        :focus-visible { outline: 2px solid var(--accent); outline-offset: 1px; }
        .unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
        button, select, input[type="search"] {
          font: inherit; color: inherit; height: 26px; padding: 0 10px; background: var(--surface);
          border: 1px solid var(--line); border-radius: 5px;
        }
        button:hover:enabled, select:hover { background: var(--hover); border-color: var(--strong-line); }
        button:disabled, select:disabled { color: var(--dim); opacity: .6; }
        button[aria-pressed="true"] { background: var(--selected); border-color: var(--accent); color: var(--accent); }
        .link { all: unset; color: var(--accent); cursor: pointer; text-decoration: underline; text-underline-offset: 2px; }
        .link:focus-visible { outline: 2px solid var(--accent); }

        .top {
          display: grid; grid-template: 20px 20px / auto minmax(180px, auto) 1fr; gap: 2px 22px; padding: 8px 14px 7px;
          background: var(--raised); white-space: nowrap;
        }
        .top > .problem { overflow: hidden; text-overflow: ellipsis; }
        .top h1 { font-size: 14px; font-weight: 650; }
        .connection { display: inline-flex; align-items: center; gap: 6px; color: var(--good); }
        .connection::before { content: ""; width: 8px; height: 8px; border-radius: 50%; background: currentColor; }
        .connection[data-state="paused"], .connection[data-state="connecting"] { color: var(--warn); }
        .connection[data-state="lost"] { color: var(--bad); }
        .connection[data-state="file"] { color: var(--accent); }
        /* What does not fit wraps to a second line, which is not shown. */
        .totals { grid-area: 2 / 1 / auto / -1; display: flex; flex-wrap: wrap; gap: 2px 18px; overflow: hidden; }
        .totals div { display: flex; flex-direction: row-reverse; gap: 5px; }
        .totals dt { color: var(--dim); }
        .totals dd { font-weight: 600; }
        .totals .is-bad dd { color: var(--bad); }
        .tools {
          display: flex; flex-wrap: wrap; align-items: center; gap: 6px; padding: 0 14px 9px; background: var(--raised);
          border-bottom: 1px solid var(--line);
        }
        .tools input[type="search"] { width: var(--search, 250px); }
        .tools select { width: var(--filter, auto); }
        .tools input::placeholder { color: var(--dim); opacity: 1; }
        .tools .space { flex: 1; }
        .tools [data-action="pause"] { min-width: 76px; }
        .tools .group { display: flex; }
        .tools .group button { border-radius: 0; margin-left: -1px; min-width: 30px; }
        .tools .group button:first-child { border-radius: 5px 0 0 5px; }
        .tools .group button:last-child { border-radius: 0 5px 5px 0; }
        .banner { padding: 7px 14px; background: var(--selected); border-bottom: 1px solid var(--line); }
        .banner bdi { font-weight: 600; overflow-wrap: anywhere; }

        main { flex: 1 1 0; min-height: 90px; position: relative; display: flex; }
        .list { flex: 1; min-width: 0; overflow: auto; position: relative; }
        .list { overflow-anchor: none; scroll-padding: var(--row) 0 0 var(--list); }
        .list > .head { position: sticky; top: 0; z-index: 4; height: var(--row); background: var(--surface); }
        .list > .head { border-bottom: 1px solid var(--line); }
        .older { height: var(--row); padding-left: 20px; line-height: var(--row); color: var(--dim); font-style: italic; }
        .rows { position: relative; min-height: calc(100% - var(--row)); contain: layout style; }
        .cells {
          position: relative; z-index: 2; width: var(--list); height: 100%; display: grid; grid-template: var(--row) / var(--columns);
          background: var(--surface); border-right: 1px solid var(--line);
        }
        .cells > * { padding: 0 6px; line-height: var(--row); white-space: nowrap; overflow: hidden; text-overflow: ellipsis; min-width: 0; }
        /* A sticky element takes its own layer, so the cells are sticky only if there is something to scroll. */
        .is-wide .cells { position: sticky; left: 0; }
        .row .cells > * { contain: strict; }
        .head .cells > * { color: var(--dim); }
        .head .cells > [data-column="id"] { padding-left: 20px; }
        .cells > [data-column="tries"], .cells > [data-column="bytes"], .cells > [data-column="time"] { text-align: right; }
        .row { position: absolute; top: 0; left: 0; width: 100%; height: var(--row); contain: strict; cursor: default; }
        .row:hover .cells { background: var(--hover); }
        .row[aria-selected="true"] .cells { background: var(--selected); }
        .row:hover .time { background: color-mix(in srgb, var(--line) 28%, transparent); }
        .row[aria-selected="true"] .time { background: color-mix(in srgb, var(--selected) 50%, transparent); }
        .row:focus { outline: none; }
        .row:focus-visible .cells { box-shadow: inset 0 0 0 2px var(--accent); }
        .row .cells > [data-column="id"] { display: flex; padding-left: 2px; color: var(--dim); }
        .disclosure { flex: 0 0 18px; height: 100%; position: relative; }
        .row[aria-expanded] .disclosure::before {
          content: ""; position: absolute; left: 6px; top: 9px;
          border: 4px solid transparent; border-left: 6px solid var(--dim); border-right: 0;
        }
        .row[aria-expanded="true"] .disclosure::before { transform: rotate(90deg); }
        .row[aria-expanded] .disclosure:hover::before { border-left-color: var(--text); }
        .row .host { margin-left: 8px; }
        .row .host, .row[data-of] .cells > * { color: var(--dim); }
        .row[data-of] .cells > [data-column="path"] { padding-left: 20px; }
        .row.is-bad .cells > :is([data-column="status"], [data-column="path"]), .row.is-bad .host { color: var(--bad); }
        .row.is-warn .cells > [data-column="status"] { color: var(--warn); }
        :is(.is-running, .is-paused, .is-dropped) .cells > [data-column="status"] { color: var(--dim); }
        .time { position: absolute; left: var(--list); right: 0; top: 0; height: 100%; }
        .extent { position: absolute; top: 12px; height: 2px; min-width: 2px; background: var(--strong-line); }
        .bar { position: absolute; top: 7px; height: 12px; min-width: 2px; border-radius: 1px; background: var(--kind); }
        .bar.is-wait, .swatch.is-wait {
          background: repeating-linear-gradient(135deg, var(--kind) 0 3px, color-mix(in srgb, var(--kind) 38%, var(--surface)) 3px 5px);
        }
        /* Stripes in other directions mark the waits for something outside of Ness. */
        :is(.bar, .swatch).is-wait[data-kind="pause"] {
          background: repeating-linear-gradient(90deg, var(--kind) 0 2px, color-mix(in srgb, var(--kind) 25%, var(--surface)) 2px 5px);
        }
        :is(.bar, .swatch).is-wait[data-kind="network"] {
          background: repeating-linear-gradient(0deg, var(--kind) 0 2px, color-mix(in srgb, var(--kind) 25%, var(--surface)) 2px 4px);
        }
        .bar.is-wait { top: 9px; height: 8px; }
        .bar.is-joined { background: color-mix(in srgb, var(--kind) 55%, var(--surface)); }
        .bar.is-failed { border-right: 2px solid var(--bad); }
        .swatch { display: inline-block; flex: none; width: 12px; height: 9px; border-radius: 1px; background: var(--kind); }
        .bar, .swatch { --kind: var(--strong-line); }
        [data-kind="dns"] { --kind: var(--dns); } [data-kind="connect"] { --kind: var(--connect); } [data-kind="tls"] { --kind: var(--tls); }
        [data-kind="waiting"] { --kind: var(--waiting); } [data-kind="receiving"] { --kind: var(--receiving); }
        [data-kind="hostQueue"] { --kind: var(--hostQueue); } [data-kind="throttle"] { --kind: var(--throttle); }
        [data-kind="refreshWait"] { --kind: var(--refreshWait); } [data-kind="refresh"] { --kind: var(--refresh); }
        [data-kind="retry"] { --kind: var(--retry); } [data-kind="pause"] { --kind: var(--pause); }
        [data-kind="network"] { --kind: var(--network); } [data-kind="decode"] { --kind: var(--decode); }
        .ticks { position: absolute; left: var(--list); right: 0; top: 0; height: 100%; overflow: hidden; }
        .ticks span { position: absolute; top: 0; padding-left: 5px; line-height: var(--row); color: var(--dim); white-space: nowrap; }
        .ticks .gap { position: absolute; top: 0; bottom: 0; }
        .ticks .gap-label { padding: 0; text-align: center; font-size: 10px; }
        .lines { position: absolute; inset: 0 0 0 var(--list); overflow: hidden; pointer-events: none; }
        .lines i { position: absolute; top: 0; bottom: 0; border-left: 1px solid var(--line); }
        :is(.lines, .ticks) .gap { border: 0; background: repeating-linear-gradient(135deg, var(--line) 0 1px, transparent 1px 6px); }
        .brackets { position: sticky; left: calc(var(--list) - var(--gutter)); z-index: 3; width: 0; height: 0; }
        .bracket { position: absolute; width: 0; border-left: 2px solid var(--strong-line); pointer-events: none; }
        .bracket i { position: absolute; left: -5px; width: 8px; height: 8px; border-radius: 50%; pointer-events: auto; }
        .bracket i { border: 2px solid var(--strong-line); background: var(--surface); }
        .bracket .is-starter { border-color: var(--accent); background: var(--accent); }
        .empty { position: absolute; inset: 84px 20px auto; text-align: center; color: var(--dim); font-size: 13px; }

        .details { flex: 0 0 48%; min-height: 120px; display: flex; flex-direction: column; overflow-wrap: anywhere; }
        .details { border-top: 1px solid var(--strong-line); }
        .details > header { display: flex; align-items: center; gap: 10px; padding: 7px 14px; background: var(--raised); }
        .details > header { border-bottom: 1px solid var(--line); }
        .details h2 { flex: 1; min-width: 0; font-size: 13px; font-weight: 600; }
        .details h2 { white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
        .details .columns { flex: 1; min-height: 0; display: grid; grid-template-columns: minmax(320px, 5fr) 7fr; }
        .details .columns > div { overflow: auto; padding: 10px 14px 18px; min-width: 0; overscroll-behavior: contain; }
        .details .columns > div + div { border-left: 1px solid var(--line); }
        @media (max-width: 900px) {
          .details .columns { display: block; overflow: auto; }
          .details .columns > div { overflow: visible; }
          .details .columns > div + div { border-left: 0; border-top: 1px solid var(--line); }
        }
        .details h3 { margin: 14px 0 4px; font-size: 12px; font-weight: 600; color: var(--dim); }
        .details h3:first-child, .why:first-child { margin-top: 0; }
        .why { font-size: 13px; line-height: 1.55; }
        .why b { font-weight: 650; white-space: nowrap; }
        .why + .why { margin-top: 6px; }
        .steps { list-style: none; margin-top: 10px; }
        .steps li { display: grid; grid-template-columns: 12px 62px 1fr 74px; gap: 8px; align-items: baseline; padding: 2px 0; }
        .steps b { text-align: right; font-weight: 600; }
        .steps .at { color: var(--dim); text-align: right; }
        .steps li > span { overflow-wrap: anywhere; min-width: 0; }
        .problem { color: var(--bad); }
        .warning { color: var(--warn); }
        .details ul { padding-left: 16px; }
        .url { max-height: 7em; overflow: auto; }
        .pairs { width: 100%; border-collapse: collapse; table-layout: fixed; }
        .pairs th { width: 170px; text-align: left; font-weight: 400; color: var(--dim); vertical-align: top; padding: 1px 10px 1px 0; }
        .pairs td { vertical-align: top; padding: 1px 0; }
        .pairs th, .pairs td { overflow-wrap: anywhere; font-family: var(--mono); font-size: 11.5px; }
        pre {
          font: 11.5px/1.5 var(--mono); white-space: pre-wrap; overflow-wrap: anywhere; padding: 8px 10px; background: var(--raised);
          border-radius: 5px; unicode-bidi: isolate; direction: ltr; tab-size: 4;
        }
        .fold { border-bottom: 1px solid var(--line); }
        .fold > summary { padding: 5px 0; cursor: default; overflow-wrap: anywhere; }
        .fold > div { padding: 0 0 12px 14px; }
        .fold summary b { font-weight: 600; }
        .fold summary small, .note { font-size: 12px; color: var(--dim); }
        .details [data-action="copy"] { min-width: 104px; }
        .body-image { display: block; max-width: 100%; max-height: 320px; border: 1px solid var(--line); }
        .tree { font: 11.5px/1.6 var(--mono); overflow-wrap: anywhere; padding: 6px 10px; background: var(--raised); border-radius: 5px; }
        .tree div, .tree details > :not(summary) { padding-left: 16px; }
        .tree > div, .tree > details > div > div { padding-left: 14px; }
        .tree summary { cursor: default; }
        .tree .key { color: var(--accent); }
        .tree .string { color: var(--good); }
        .tree .other { color: var(--warn); }

        .legend { display: flex; flex-wrap: wrap; gap: 2px 14px; padding: 6px 14px; min-height: 30px; list-style: none; color: var(--dim); }
        .legend { background: var(--raised); border-top: 1px solid var(--line); }
        .legend li { display: inline-flex; align-items: center; gap: 5px; white-space: nowrap; }
        @media (forced-colors: active) { .bar, .swatch, .bracket, .bracket i { forced-color-adjust: none; } }
        """#
}
