extension InspectorPage {
    /// The script, in JavaScript. A server's text enters the page as the text of a node, never as markup.
    static let script = #"""
        "use strict";

        const KINDS = {
          hostQueue: { label: "host queue", isWait: true }, throttle: { label: "throttle", isWait: true },
          dns: { label: "DNS" }, connect: { label: "connect" }, tls: { label: "TLS" },
          waiting: { label: "waiting for the response" }, receiving: { label: "receiving" },
          refresh: { label: "token refresh", isWait: true }, refreshWait: { label: "waiting for a token refresh", isWait: true },
          retry: { label: "retry delay", isWait: true }, pause: { label: "paused", isWait: true },
          network: { label: "no network", isWait: true }, decode: { label: "decode" }, ness: { label: "Ness itself" },
        };
        const COLUMNS = {
          id: "#", method: "Method", path: "Path", status: "Status", source: "Source", tries: "Tries", bytes: "Bytes", time: "Time",
          flight: "",
        };
        // The most important comes first, because a narrow window clips the last ones.
        const TOTALS = {
          requests: ["request", "requests"], failed: ["error", "errors"], exchanges: ["exchange", "exchanges"], retries: ["retry", "retries"],
          joined: ["exchanges saved by sharing"], cached: ["exchanges saved by the cache"], bytesReceived: ["received"], bytesSent: ["sent"],
        };
        const ROW_HEIGHT = 26, OVERSCAN = 8, GAP_WIDTH = 50, BAR_HEIGHT = 12, LANES = 4, ZOOM_STEP = 1.6, ZOOM_LIMIT = 16;
        const BODY_LIMIT = 100_000, LIST_LIMIT = 500, IMAGE_TYPES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);
        const reducedMotion = matchMedia("(prefers-reduced-motion: reduce)");

        // MARK: Text

        // Control characters and bidirectional overrides could reorder or hide the text around them, so they are spelled out.
        const UNSAFE = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

        function spellOut(character) {
          const code = character.charCodeAt(0);
          if (code < 0x20) return String.fromCharCode(0x2400 + code);
          return `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
        }

        function safeLine(text, limit = 2_000) {
          const line = String(text ?? "");
          const safe = line.slice(0, limit).replace(UNSAFE, spellOut);
          return line.length > limit ? `${safe}…` : safe;
        }

        function safeText(text) {
          return String(text ?? "").replace(/\r\n/g, "\n").replace(UNSAFE, (c) => (c === "\n" || c === "\t" ? c : spellOut(c)));
        }

        function duration(ms) {
          if (!(ms >= 0)) return "";
          if (ms < 0.05) return "0 ms";
          if (ms < 9.95) return `${ms.toFixed(1)} ms`;
          if (ms < 999.5) return `${Math.round(ms)} ms`;
          if (ms < 59_995) return `${(ms / 1_000).toFixed(2)} s`;
          const seconds = Math.round(ms / 1_000);
          return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
        }

        function byteCount(count) {
          if (!(count >= 1_000)) return `${count || 0} B`;
          const units = ["kB", "MB", "GB", "TB"];
          let value = count / 1_000;
          while (value >= 999.5 && units.length > 1) { value /= 1_000; units.shift(); }
          return `${value < 9.95 ? value.toFixed(1) : Math.round(value)} ${units[0]}`;
        }

        function plural(count, noun) { return `${count.toLocaleString("en-US")} ${noun}${count === 1 ? "" : "s"}`; }

        // Puts the separators of a list between its parts: "a", "a and b", "a, b, and c".
        function enumerate(parts, comma = ", ") {
          const last = parts.length > 2 ? `${comma}and ` : " and ";
          return parts.flatMap((part, index) => [index === 0 ? "" : index === parts.length - 1 ? last : comma, ...[part].flat()]);
        }

        function splitURL(url) {
          const match = /^[a-z][a-z0-9+.-]*:\/\/([^/?#]*)(.*)$/is.exec(url);
          return match ? [match[1], match[2] || "/"] : ["", url];
        }

        // MARK: Elements

        const find = (selector) => document.querySelector(selector);
        const elements = {
          connection: find(".connection"), totals: find(".totals"), search: find("[data-field=search]"),
          filter: find("[data-field=filter]"), file: find("[data-field=file]"), banner: find("[data-panel=banner]"),
          list: find(".list"), head: find(".head"), ticks: find(".ticks"), rows: find(".rows"), lines: find(".lines"),
          brackets: find(".brackets"), older: find(".older"), empty: find(".empty"), details: find(".details"), title: find(".details h2"),
          why: find("[data-part=why]"), messages: find("[data-part=messages]"), legend: find(".legend"), status: find("[role=status]"),
        };

        function action(name) { return find(`[data-action="${name}"]`); }

        function make(tag, attributes = {}, ...children) {
          const element = document.createElement(tag);
          for (const [name, value] of Object.entries(attributes)) setAttribute(element, name, value === true ? "" : value);
          element.append(...children.flat().filter((child) => child != null));
          return element;
        }

        function makeSwatch(kind) {
          return make("i", { class: `swatch${KINDS[kind]?.isWait ? " is-wait" : ""}`, "data-kind": kind, "aria-hidden": "true" });
        }

        // Writing only what has changed keeps the browser from computing style and layout again.
        function setText(element, text) { if (element.textContent !== text) element.textContent = text; }

        function setAttribute(element, name, value) {
          if (value == null || value === false) element.removeAttribute(name);
          else if (element.getAttribute(name) !== String(value)) element.setAttribute(name, value);
        }

        function place(element, left, width) {
          element.style.left = `${left.toFixed(1)}px`;
          if (width != null) element.style.width = `${width.toFixed(1)}px`;
          return element;
        }

        // MARK: Requests

        // The requests of the server, or of a file. A flight is an exchange with all of its callers.
        class Store {
          requests = new Map();
          flights = new Map();
          totals = null;
          kept = null;
          archive = null;

          apply(batch) {
            this.totals = batch.totals ?? this.totals;
            this.kept = batch.kept ?? this.kept;
            const kept = new Set(batch.kept ?? this.requests.keys());
            for (const id of [...this.requests.keys()].filter((id) => !kept.has(id))) this.requests.delete(id);
            for (const request of batch.requests ?? []) this.requests.set(request.id, { ...request, kinds: kindsOf(request) });
            this.#findFlights();
          }

          inOrder() { return [...this.requests.values()].sort((a, b) => a.id - b.id); }

          #findFlights() {
            this.flights.clear();
            for (const request of this.inOrder()) {
              for (const { id, isJoined } of request.exchanges) {
                if (!this.flights.has(id)) this.flights.set(id, { id, callers: new Set(), starter: null });
                const flight = this.flights.get(id);
                flight.callers.add(request);
                if (!isJoined) flight.starter ??= request;
              }
            }
          }

          starter(exchange) { return this.flights.get(exchange.id)?.starter; }

          sharedFlights(request) {
            const ids = new Set(request.exchanges.map((exchange) => exchange.id));
            return [...ids].map((id) => this.flights.get(id)).filter((flight) => flight?.callers.size > 1);
          }

          isShared(request) { return request.exchanges.some((exchange) => exchange.isJoined) || this.sharedFlights(request).length > 0; }
          refresher(request, span) { return this.#overlapping(request, span, "refresh")[0]; }
          refreshWaiters(request, span) { return this.#overlapping(request, span, "refreshWait").sort((a, b) => a.id - b.id); }

          // Returns the requests to the same host that ran only during a span, the longest first: that of a token refresh fills the span.
          within({ host }, span) {
            const isWithin = ({ start, end }) => start >= span.start && end != null && end <= (span.end ?? Infinity);
            const others = this.inOrder().filter((other) => other.host === host && other.exchanges.length && isWithin(other));
            return others.sort((a, b) => (b.end - b.start) - (a.end - a.start));
          }

          // Returns the other requests with a span of a kind at the same time, the likeliest first: a credential usually belongs to a host.
          #overlapping(request, span, kind) {
            const shared = (other) => Math.max(0, ...other.spans.filter((wait) => wait.kind === kind).map((wait) => overlap(wait, span)));
            const weight = (other) => shared(other) * (other.host === request.host ? 2 : 1);
            const others = [...this.requests.values()].filter((other) => other !== request && shared(other) > 0);
            return others.sort((a, b) => weight(b) - weight(a));
          }
        }

        function overlap(a, b) { return Math.min(a.end ?? Number.MAX_VALUE, b.end ?? Number.MAX_VALUE) - Math.max(a.start, b.start); }

        function phasesOf({ start, head, end, connection, isJoined }) {
          const phases = [];
          let cursor = start;
          const add = (kind, phaseEnd) => {
            if (phaseEnd == null || phaseEnd > cursor) phases.push({ kind, start: cursor, end: phaseEnd });
            cursor = phaseEnd ?? cursor;
          };
          // A caller that joined may have missed a part of the connection's start, which the measurements do not tell.
          if (connection && !connection.isReused && !isJoined) {
            for (const [kind, time] of [["dns", connection.nameLookup], ["connect", connection.connect], ["tls", connection.tls]]) {
              if (time > 0) add(kind, Math.min(cursor + time, head ?? end ?? Infinity));
            }
          }
          add("waiting", head ?? end);
          if (head != null) add("receiving", end);
          return phases;
        }

        function isRunning(request) { return request.end == null; }
        function isBad(request) { return request.state === "failed" || request.status >= 400; }
        // Neither a pause nor its caller's cancellation makes an exchange fail, although it ends with an error.
        function isStopped(request, { error, end }) {
          return Boolean(error) && request.spans.some((span) => span.kind === "pause" && overlap(span, { start: end, end }) >= 0);
        }
        const CANCELED = /^([A-Z]+ \S+: )?dropped\b/;
        function isFailed(request, part) { return Boolean(part.error) && !isStopped(request, part) && !CANCELED.test(part.error); }
        function errorText(error) { return error?.replace(CANCELED, "$1canceled"); }
        function exchangeError(request, part) { return isStopped(request, part) ? "stopped by the pause" : errorText(part.error); }
        function outcomeWord({ status, state }) { return `${status ?? { succeeded: "", dropped: "canceled" }[state] ?? state}`; }

        function hasCacheSource(request) { return ["cache", "stale", "revalidated"].includes(request.source); }

        const FILTERS = {
          all: () => true, running: isRunning, errors: isBad, cache: hasCacheSource, shared: (request) => store.isShared(request),
        };

        function searchText({ id, method, host, path, status, tags }) {
          return [`#${id}`, method, host + path, status, ...Object.entries(tags ?? {}).flat()].join("\n").toLowerCase();
        }

        // MARK: State

        const live = new Store();
        let store = live;
        let connectionState = "connecting";
        let clock = 0;
        let isPaused = false, pausedAt = 0, held = new Store();
        let isFollowing = true;
        let items = [], shown = [], hasSeveralHosts = false, brackets = [];
        let activeKey = null, selected = null, drawnBrackets = [];
        const expanded = new Set();
        const views = new Map();
        // `top` is the place in the rows: a line before them, of the height `older`, has negative ones.
        const view = { top: 0, width: 0, height: 0, listWidth: 0, setTop: 0, older: 0 };
        let hasChanged = true, frame = 0, timer = 0;

        function now() { return store === live ? (isPaused ? pausedAt : performance.now() + clock) : Infinity; }

        function invalidate(isChange = false) {
          hasChanged ||= isChange;
          frame ||= requestAnimationFrame(render);
        }

        function render() {
          frame = 0;
          if (hasChanged) rebuildItems();
          if (hasChanged) followNewest();
          rebuildAxis();
          renderRows();
          renderBrackets();
          if (hasChanged) renderSummary();
          refreshDetails();
          hasChanged = false;
          clearTimeout(timer);
          const isMoving = shown.some(isRunning) && store === live && !isPaused && !document.hidden;
          if (isMoving) timer = setTimeout(() => invalidate(), reducedMotion.matches ? 1_000 : 100);
        }

        function rebuildItems() {
          const filter = FILTERS[elements.filter.value], terms = elements.search.value.toLowerCase().split(/\s+/).filter(Boolean);
          shown = store.inOrder().filter((request) => filter(request) && terms.every((term) => searchText(request).includes(term)));
          items = [];
          for (const request of shown) {
            items.push({ key: `${request.id}`, request });
            const nested = expanded.has(request.id) ? request.exchanges : [];
            items.push(...nested.map((exchange, position) => ({ key: `${request.id}/${position}`, request, exchange, position })));
          }
          hasSeveralHosts = new Set(shown.map((request) => request.host)).size > 1;
          if (!items.some((item) => item.key === activeKey)) activeKey = items[0]?.key ?? null;
          elements.rows.style.height = `${items.length * ROW_HEIGHT}px`;
          elements.rows.hidden = !items.length;
          elements.older.hidden = !(store.totals?.requests > store.requests.size);
          view.older = elements.older.hidden ? 0 : ROW_HEIGHT;
          view.top = elements.list.scrollTop - view.older;
          setAttribute(elements.list, "aria-rowcount", items.length + 1);
          brackets = findBrackets();
        }

        function renderSummary() {
          for (const [name, [one, several = one]] of Object.entries(TOTALS)) {
            const value = store.totals?.[name] ?? 0, entry = find(`[data-total="${name}"]`);
            setText(entry.previousSibling, value === 1 ? one : several);
            setText(entry, name.startsWith("bytes") ? byteCount(value) : value.toLocaleString("en-US"));
            if (name === "failed") entry.parentElement.classList.toggle("is-bad", value > 0);
          }
          const kinds = new Set(shown.flatMap((request) => request.kinds));
          for (const entry of elements.legend.children) entry.hidden = !kinds.has(entry.firstChild.dataset.kind);
          elements.empty.hidden = items.length > 0;
          const isEmpty = !store.requests.size;
          setText(elements.empty, isEmpty ? "No requests yet. They appear when a client sends them." : "No request matches the filter.");
        }

        // MARK: Time axis

        // The axis spans the requests in view, so that their bars stay legible in a long list.
        const axis = {
          segments: [], scale: 1, zoom: 1, gapWidth: 0, version: 0, key: "",

          x(time) {
            const segment = this.segments.findLast((candidate) => candidate.from <= time) ?? this.segments[0];
            return segment.x + (Math.min(Math.max(time, segment.from), segment.to) - segment.from) * this.scale;
          },
        };

        function rebuildAxis() {
          const segments = busySegments(requestsInView()), width = Math.max(120, (view.width - view.listWidth) * axis.zoom - 14);
          const gapWidth = Math.min(GAP_WIDTH, width * 0.3 / segments.length);
          const scale = (width - gapWidth * (segments.length - 1)) / totalTime(segments);
          const key = [scale, gapWidth, view.width, view.listWidth, ...segments.flatMap((segment) => [segment.from, segment.to])].join();
          if (key === axis.key) return;
          segments.reduce((x, segment) => (segment.x = x) + (segment.to - segment.from) * scale + gapWidth, 6);
          Object.assign(axis, { key, scale, gapWidth, segments, version: axis.version + 1 });
          elements.rows.style.width = elements.head.style.width = axis.zoom > 1 ? `${view.listWidth + width + 14}px` : "";
          elements.list.classList.toggle("is-wide", axis.zoom > 1);
          if (isFollowing && store === live) elements.list.scrollLeft = width;
          renderAxis();
        }

        function requestsInView() {
          const first = Math.max(0, Math.floor(view.top / ROW_HEIGHT));
          const inView = items.slice(first, Math.ceil((view.top + view.height) / ROW_HEIGHT) - 1);
          return [...new Set(inView.map((item) => item.request))];
        }

        // Returns the stretches of time with a request. A long idle time between two of them is collapsed to a narrow gap.
        function busySegments(requests) {
          const time = now(), spans = requests.map(({ start, end }) => ({ from: start, to: Math.max(start + 0.5, end ?? time) }));
          if (!spans.length) return [{ from: 0, to: 1_000 }];
          const tight = mergeSpans(spans, 0);
          const segments = mergeSpans(tight, Math.max(1_000, totalTime(tight) * 0.12)), last = segments.at(-1);
          last.to = Math.max(last.to, last.from + 5);
          if (last.to < time) return segments;
          // Rounding keeps the scale still while requests run: a new scale moves every bar.
          const step = 10 ** Math.floor(Math.log10(last.to - last.from)) / 2;
          last.to = last.from + Math.ceil((last.to - last.from) * 1.02 / step) * step;
          return segments;
        }

        function mergeSpans(spans, tolerance) {
          const merged = [];
          for (const { from, to, exchanges = [] } of spans.toSorted((a, b) => a.from - b.from)) {
            const last = merged.at(-1);
            if (!last || from - last.to > tolerance) merged.push({ from, to, exchanges });
            else merged.splice(-1, 1, { ...last, to: Math.max(last.to, to), exchanges: [...last.exchanges, ...exchanges] });
          }
          return merged;
        }

        function totalTime(spans) { return spans.reduce((sum, span) => sum + span.to - span.from, 0); }

        function tickStep() {
          const least = 64 / axis.scale, power = 10 ** Math.floor(Math.log10(least));
          if (least > 20_000) return [30_000, 60_000, 120_000, 300_000, 600_000, 1_800_000].find((step) => step >= least) ?? power * 10;
          return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= least);
        }

        function tickLabel(offset) {
          if (offset < 1_000) return `${+offset.toFixed(3)} ms`;
          if (offset < 60_000) return `${+(offset / 1_000).toFixed(4)} s`;
          const seconds = +(offset % 60_000 / 1_000).toFixed(3), minutes = Math.floor(offset / 60_000);
          return `${minutes}:${seconds < 10 ? "0" : ""}${seconds}`;
        }

        function gapLabel(ms) { return ms < 59_500 ? `+${(ms / 1_000).toPrecision(2)} s` : `+${Math.round(ms / 60_000)} min`; }

        function renderAxis() {
          const gaps = [], ticks = [], step = tickStep();
          axis.segments.forEach((segment, index) => {
            if (index > 0) gaps.push({ x: segment.x - axis.gapWidth + 3, text: gapLabel(segment.from - axis.segments[index - 1].to) });
            // Times count from the inspector's start, so that they stay the same when the list scrolls.
            for (let n = Math.ceil(segment.from / step); n * step <= segment.to; n += 1) {
              ticks.push({ x: axis.x(n * step), text: tickLabel(n * step) });
            }
          });
          const width = axis.gapWidth - 6, bands = () => gaps.map(({ x }) => place(make("i", { class: "gap" }), x, width));
          elements.lines.replaceChildren(...bands(), ...ticks.map(({ x }) => place(make("i"), x)));
          elements.ticks.replaceChildren(...bands(), ...axisLabels(ticks, gaps.map((gap) => ({ ...gap, width }))));
        }

        // Drops a label that would overlap another one, or leave its gap. Widths are estimates, because measuring would force a layout.
        function axisLabels(ticks, gaps) {
          const taken = [], limit = axis.x(Infinity) + 8;
          return [...ticks, ...gaps].flatMap(({ x, text, width }) => {
            const least = width ? text.length * 5.6 : 8 + text.length * 6.6, right = x + (width ?? least);
            if (right > limit || least > width || taken.some((other) => x < other.right && right > other.x)) return [];
            taken.push({ x, right: right + (width ? 0 : 3) });
            return place(make("span", { class: width && "gap-label" }, text), x, width);
          });
        }

        function zoom(factor) {
          const middle = (view.width - view.listWidth) / 2, before = axis.zoom;
          axis.zoom = Math.min(ZOOM_LIMIT, Math.max(1, axis.zoom * factor));
          const left = (elements.list.scrollLeft + middle) * axis.zoom / before - middle;
          rebuildAxis();
          elements.list.scrollLeft = left;
          invalidate();
        }

        function followNewest() {
          if (!isFollowing || store !== live) return;
          const top = Math.max(-view.older, (items.length + 1) * ROW_HEIGHT - view.height);
          if (Math.abs(view.top - top) > 1) scrollListTo(top);
        }

        function scrollListTo(top) {
          view.top = Math.max(-view.older, top);
          elements.list.scrollTop = view.setTop = view.top + view.older;
        }

        function setFollowing(value) {
          isFollowing = value;
          setAttribute(action("follow"), "aria-pressed", String(value));
          if (value) invalidate(true);
        }

        // MARK: Rows

        function itemAt(key) { return items.find((item) => item.key === key); }

        // Only the rows in view, some beyond, and the row with the focus are elements.
        function renderRows() {
          const first = Math.floor(view.top / ROW_HEIGHT) - OVERSCAN, last = Math.ceil((view.top + view.height) / ROW_HEIGHT) + OVERSCAN;
          const wanted = new Map([...items.entries()].filter(([index, item]) => index >= first && index < last || item.key === activeKey));
          const keys = new Set([...wanted.values()].map((item) => item.key));
          for (const [key, row] of views) {
            if (!keys.has(key)) { row.element.remove(); views.delete(key); }
          }
          let cursor = elements.brackets.nextSibling;
          for (const [index, item] of wanted) {
            const row = views.get(item.key) ?? makeRow(item);
            if (row.element === cursor) cursor = cursor.nextSibling; else elements.rows.insertBefore(row.element, cursor);
            updateRow(row, item, index);
          }
        }

        function makeRow({ key, request, exchange }) {
          const makeCell = (name) => make("span", { role: "gridcell", "data-column": name });
          const cells = Object.fromEntries(Object.keys(COLUMNS).map((name) => [name, makeCell(name)]));
          const extent = make("span", { class: "extent" }), time = make("div", { class: "time", role: "gridcell" }, extent);
          const own = exchange ? { "data-exchange": exchange.id, "data-of": request.id } : { "data-request": request.id };
          const element = make("div", { role: "row", "data-key": key, "aria-level": exchange ? 2 : 1, ...own },
            make("div", { class: "cells", role: "presentation" }, Object.values(cells)), time);
          cells.id.append(make("span", { class: "disclosure" }), make("span"));
          cells.path.append(make("span"), make("span", { class: "host" }));
          const row = { element, cells, time, extent, bars: [], source: null, segments: [], drawn: -1 };
          views.set(key, row);
          return row;
        }

        function updateRow(row, item, index) {
          const { element } = row, { request, exchange = request } = item;
          if (row.index !== index) element.style.transform = `translateY(${index * ROW_HEIGHT}px)`;
          row.index = index;
          setAttribute(element, "tabindex", item.key === activeKey ? 0 : -1);
          setAttribute(element, "aria-selected", String(selected === request.id && exchange === request));
          if (hasChanged || !row.source) fillRow(row, item, index);
          if (isRunning(exchange)) setText(row.cells.time, duration(now() - exchange.start));
          if (isRunning(exchange) || row.drawn !== axis.version) drawBars(row, exchange);
        }

        function fillRow(row, { request, exchange }, index) {
          const { element, cells } = row, isNew = row.source !== request;
          setAttribute(element, "aria-rowindex", index + 2);
          if (!exchange) setAttribute(element, "aria-expanded", request.exchanges.length ? String(expanded.has(request.id)) : null);
          const texts = exchange ? exchangeTexts(request, exchange) : requestTexts(request);
          for (const name of ["method", "status", "source", "tries", "bytes", "time"]) setText(cells[name], texts[name]);
          const [host, path] = exchange ? splitURL(exchange.url) : [request.host, request.path];
          setText(cells.id.lastChild, exchange ? "" : `${request.id}`);
          setText(cells.path.firstChild, safeLine(path, 300));
          setText(cells.path.lastChild, hasSeveralHosts || host !== request.host ? safeLine(host, 200) : "");
          if (!isNew) return;
          const { url } = exchange ?? request, error = exchange ? exchangeError(request, exchange) : errorText(request.error);
          setAttribute(cells.path, "title", safeLine(error ? `${url} — ${error}` : url));
          element.className = `row ${texts.state}`;
          row.source = request;
          row.segments = exchange ? exchangeSegments(request, exchange) : requestSegments(request);
          row.drawn = -1;
        }

        function requestTexts(request) {
          // The tries and the bytes of a request that only joined others are those of the others.
          const { attempts, bytesReceived, exchanges } = request, isOwn = !exchanges.length || exchanges.some(({ isJoined }) => !isJoined);
          return {
            method: safeLine(request.method, 30), status: outcomeWord(request), source: sourceText(request),
            tries: isOwn && attempts ? `${attempts}` : "", bytes: isOwn && bytesReceived ? byteCount(bytesReceived) : "",
            time: duration((request.end ?? now()) - request.start), state: isBad(request) ? "is-bad" : `is-${request.state}`,
          };
        }

        function exchangeTexts(request, exchange) {
          const hasFailed = isFailed(request, exchange);
          const word = hasFailed ? "failed" : isStopped(request, exchange) ? "paused" : exchange.error ? "canceled" : "…";
          return {
            method: safeLine(exchange.method, 30), status: `${exchange.status ?? word}`, source: causeText(request, exchange),
            tries: exchange.isJoined ? "" : `${exchange.attempt}`, bytes: "", time: duration(exchange.end - exchange.start),
            state: hasFailed || exchange.status >= 400 ? "is-bad" : exchange.status >= 300 ? "is-warn" : "",
          };
        }

        // Explains why a request has an exchange. A download continues with a range after a pause.
        function causeText(request, exchange) {
          if (exchange.isJoined) return joinedText(exchange);
          const previous = request.exchanges[request.exchanges.indexOf(exchange) - 1];
          if (!previous) return "first";
          if (exchange.status === 206 || isStopped(request, previous)) return "range";
          if (previous.attempt !== exchange.attempt) return `retry ${exchange.attempt - 1}`;
          if (previous.status === 401) return "after token refresh";
          return previous.status >= 300 && previous.status < 400 ? "redirect" : "repeated";
        }

        function joinedText(exchange) {
          const starter = store.starter(exchange);
          return starter ? `joined #${starter.id}` : "joined";
        }

        function sourceText(request) {
          const joined = request.exchanges.findLast((exchange) => exchange.isJoined);
          const sharing = joined ? joinedText(joined) : store.sharedFlights(request).length ? "started" : null;
          // "joined" implies "network".
          return [joined && !hasCacheSource(request) ? null : request.source, sharing].filter(Boolean).join(" · ");
        }

        // MARK: Bars

        function requestSegments(request) {
          const ends = [], segments = [];
          for (const exchange of request.exchanges) {
            // Exchanges that overlap, such as the ranges of a download, get a lane each.
            let lane = ends.findIndex((end) => end <= exchange.start);
            if (lane < 0) lane = ends.length;
            ends[lane] = exchange.end ?? Infinity;
            segments.push(...exchangeSegments(request, exchange).map((segment) => ({ ...segment, lane: lane % LANES })));
          }
          const height = BAR_HEIGHT / Math.min(LANES, ends.length || 1);
          for (const segment of segments) Object.assign(segment, { top: 7 + segment.lane * height, height });
          return [...segments, ...request.spans];
        }

        function kindsOf({ spans, exchanges }) { return ["ness", ...[...spans, ...exchanges.flatMap(phasesOf)].map(({ kind }) => kind)]; }

        function exchangeSegments(request, exchange) {
          const phases = phasesOf(exchange), { isJoined } = exchange, note = isJoined ? joinedText(exchange) : null;
          return phases.map((phase) => ({ ...phase, isJoined, isFailed: phase === phases.at(-1) && isFailed(request, exchange), note }));
        }

        function drawBars(row, { start, end }) {
          const time = now(), { segments, bars } = row, isNew = row.drawn < 0;
          placeBetween(row.extent, start, end ?? time);
          while (bars.length > segments.length) bars.pop().remove();
          segments.forEach((segment, index) => {
            if (!bars[index]) row.time.append(bars[index] = make("span", { class: "bar", "aria-hidden": "true" }));
            const width = placeBetween(bars[index], segment.start, segment.end ?? time);
            // A bar has a least width, so one that is too short to see would cover its neighbors.
            bars[index].hidden = width < 0.5 && index > 0 && !segment.isFailed;
            if (isNew) styleBar(bars[index], segment, time);
          });
          if (isNew) setAttribute(row.time, "aria-label", segments.map((segment) => segmentText(segment, time)).join(", "));
          row.drawn = axis.version;
        }

        function styleBar(bar, segment, time) {
          const classes = { "is-wait": KINDS[segment.kind]?.isWait, "is-joined": segment.isJoined, "is-failed": segment.isFailed };
          bar.className = ["bar", ...Object.keys(classes).filter((name) => classes[name])].join(" ");
          bar.style.top = segment.height ? `${segment.top}px` : "";
          bar.style.height = segment.height ? `${segment.height}px` : "";
          setAttribute(bar, "data-kind", segment.kind);
          setAttribute(bar, "title", segmentText(segment, time));
        }

        function placeBetween(element, start, end) {
          const left = axis.x(start), width = axis.x(end) - left;
          place(element, left, width);
          return width;
        }

        function segmentText({ kind, start, end, note }, time) {
          const text = `${kindLabel(kind)} ${duration((end ?? time) - start)}${end == null ? " so far" : ""}`;
          return note ? `${text} (${safeLine(note, 200)})` : text;
        }

        function kindLabel(kind) { return KINDS[kind]?.label ?? safeLine(kind, 40); }

        // MARK: Shared exchanges

        // Callers that share several exchanges, such as a redirect and its target, get one bracket.
        function findBrackets() {
          const indexes = new Map(items.flatMap((item, index) => (item.exchange ? [] : [[item.request, index]])));
          const found = new Map(), laneEnds = [];
          for (const flight of store.flights.values()) {
            const callers = [...flight.callers].filter((caller) => indexes.has(caller));
            const members = callers.map((caller) => ({ caller, index: indexes.get(caller) })), key = callers.map(({ id }) => id).join();
            if (flight.callers.size > 1 && members.length && !found.has(key)) {
              found.set(key, { flight, members, first: members[0].index, last: members.at(-1).index });
            }
          }
          const list = [...found.values()].sort((a, b) => a.first - b.first);
          for (const bracket of list) {
            const free = laneEnds.findIndex((end) => end < bracket.first);
            bracket.lane = free < 0 ? laneEnds.length : free;
            laneEnds[bracket.lane] = bracket.last;
          }
          return list;
        }

        function renderBrackets() {
          const first = Math.floor(view.top / ROW_HEIGHT / OVERSCAN - 1) * OVERSCAN, last = first + view.height / ROW_HEIGHT + 3 * OVERSCAN;
          const key = [brackets, first, last];
          if (key.every((part, index) => part === drawnBrackets[index])) return;
          drawnBrackets = key;
          const inView = brackets.filter((bracket) => bracket.last >= first && bracket.first <= last);
          elements.brackets.replaceChildren(...inView.map((bracket) => bracketElement(bracket, first, last)));
        }

        function bracketElement(bracket, first, last) {
          const { flight, lane } = bracket, element = make("div", { class: "bracket", "data-flight": flight.id });
          element.style.top = `${(bracket.first + 0.5) * ROW_HEIGHT}px`;
          element.style.height = `${(bracket.last - bracket.first) * ROW_HEIGHT}px`;
          element.style.left = `${8 + lane % LANES * 7}px`;
          for (const { caller, index } of bracket.members.filter((member) => member.index >= first && member.index <= last)) {
            const isStarter = caller === flight.starter;
            const title = `#${caller.id} ${isStarter ? "started" : "joined"} exchange ${flight.id}`;
            const dot = make("i", { class: isStarter && "is-starter", title });
            dot.style.top = `${(index - bracket.first) * ROW_HEIGHT - 4}px`;
            element.append(dot);
          }
          return element;
        }

        // MARK: Explanation

        // Unlike a button, a link keeps the comma after it on its line.
        function link(request) {
          const id = request?.id;
          return request ? make("a", { class: "link", href: `#${id}`, "data-goto": id }, `#${id}`) : "another request";
        }

        function links(requests, limit = 12) {
          if (requests.length <= limit) return enumerate(requests.map(link));
          return [...requests.slice(0, limit).flatMap((request) => [link(request), ", "]), `and ${requests.length - limit} more`];
        }

        const SPAN_PARTS = {
          hostQueue: (request) => [`waiting for a free connection to ${safeLine(request.host, 100)}`],
          throttle: () => ["held back by the throttle"], network: () => ["waiting for a network"],
          refresh: (request, span) => {
            const waiters = store.refreshWaiters(request, span), others = store.within(request, span).slice(0, 3);
            const names = enumerate(others.map((other) => [link(other), ` ${safeLine(other.method, 30)} ${safeLine(other.path, 80)}`]));
            const waiting = waiters.length ? [", while ", ...links(waiters), " waited for it"] : [];
            return ["refreshing the token", ...waiting, ...(names.length ? [" (meanwhile ", ...names, ")"] : [])];
          },
          refreshWait: (request, span) => ["waiting for the token refresh that ", link(store.refresher(request, span)), " started"],
          retry: (request, span) => {
            const next = request.exchanges.find((exchange) => exchange.start >= span.end - 1);
            return [`waiting before ${next ? `attempt ${next.attempt}` : "the next attempt"}`];
          },
          decode: () => ["validating and decoding the response"],
        };

        function spanParts(request, span) {
          const parts = SPAN_PARTS[span.kind]?.(request, span) ?? [kindLabel(span.kind)];
          return [...parts, span.note ? ` (${safeLine(span.note, 200)})` : ""];
        }

        function outcomeText(request, exchange) {
          const { status, error, end } = exchange, text = error && safeLine(exchangeError(request, exchange), 160);
          if (status != null) return text ? `${status}, ${text}` : `${status}`;
          return text ?? (end == null ? "no response yet" : "no response");
        }

        function exchangeParts(request, group) {
          if (group.length > 1) {
            const outcomes = group.slice(0, 8).map((exchange) => outcomeText(request, exchange)).join("; ");
            return [`in ${group.length} exchanges that overlapped (${outcomes}${group.length > 8 ? "; …" : ""})`];
          }
          const [exchange] = group, outcome = outcomeText(request, exchange) + (request.attempts > 1 ? `, attempt ${exchange.attempt}` : "");
          const text = `${safeLine(exchange.method, 30)} ${safeLine(splitURL(exchange.url)[1], 80)} (${outcome})`;
          return exchange.isJoined ? [`sharing ${text}, which `, link(store.starter(exchange)), " started"] : [`in ${text}`];
        }

        // Returns the exchanges in groups: those of a group overlap.
        function exchangeGroups(request, end) {
          const spans = request.exchanges.map((exchange) => ({ from: exchange.start, to: exchange.end ?? end, exchanges: [exchange] }));
          return mergeSpans(spans, -Number.EPSILON).map(({ from, to, exchanges }) => ({ start: from, end: to, exchanges }));
        }

        function stepsOf(request, end) {
          const spans = request.spans.map((span) => ({ ...span, end: span.end ?? end }));
          const pauses = spans.filter((span) => span.kind === "pause" || span.kind === "network");
          const waits = spans.map((span) => ({ ...span, ms: span.end - span.start, parts: () => spanParts(request, span) }));
          const groups = exchangeGroups(request, end).map((group) => {
            const phases = group.exchanges.length > 1 ? [] : phasesOf(group.exchanges[0]);
            const longest = phases.toSorted((a, b) => (b.end ?? end) - b.start - ((a.end ?? end) - a.start))[0];
            const paused = pauses.reduce((sum, span) => sum + Math.max(0, overlap(span, group)), 0);
            return {
              ...group, phases, kind: longest?.kind ?? "waiting", ms: Math.max(0, group.end - group.start - paused),
              parts: () => exchangeParts(request, group.exchanges),
            };
          });
          const steps = [...waits, ...groups].sort((a, b) => a.start - b.start), total = end - request.start;
          const rest = total - totalTime(mergeSpans(steps.map((step) => ({ from: step.start, to: Math.min(step.end, end) })), 0));
          return rest > Math.max(1, total * 0.01) ? [...steps, { kind: "ness", ms: rest, parts: () => ["in Ness itself"] }] : steps;
        }

        function whereTimeWent(request, steps, end) {
          const total = end - request.start, verbs = { failed: "failed after", dropped: "was canceled after" };
          const all = steps.filter((step) => step.kind !== "ness"), rest = steps.filter((step) => step.kind === "ness");
          const longest = all.toSorted((a, b) => b.ms - a.ms).filter((step) => step.ms >= total * 0.01).slice(0, 5);
          const phrase = (step) => [make("b", {}, duration(step.ms)), " ", ...step.parts()], phrases = longest.map(phrase);
          const others = all.filter((step) => !longest.includes(step)), time = others.reduce((sum, step) => sum + step.ms, 0);
          if (phrases.length && time >= total * 0.01) phrases.push([`${duration(time)} in ${plural(others.length, "shorter step")}`]);
          phrases.push(...rest.map(phrase));
          const verb = isRunning(request) ? "has been running for" : verbs[request.state] ?? "took", opening = `${verb} ${duration(total)}`;
          return make("p", { class: "why" }, `#${request.id} ${opening}${phrases.length ? ": " : ""}`, ...enumerate(phrases, "; "), ".");
        }

        const SOURCE_TEXTS = {
          cache: "The response came from the cache.",
          stale: "The response is a stale one from the cache.",
          revalidated: "The server confirmed with a 304 that the response in the cache is still valid.",
        };

        function facts(request) {
          const list = [], { exchanges } = request, flights = store.sharedFlights(request);
          if (SOURCE_TEXTS[request.source]) {
            list.push([SOURCE_TEXTS[request.source], exchanges.length || store.archive ? "" : " Nothing was sent."]);
          }
          if (flights.length) list.push(sharingFact(flights));
          else if (exchanges.some(({ isJoined }) => isJoined)) list.push(["It joined an exchange of a request that has left the list."]);
          return list.map((parts) => make("p", { class: "why" }, ...parts));
        }

        function sharingFact(flights) {
          const callers = [...new Set(flights.flatMap((flight) => [...flight.callers]))].sort((a, b) => a.id - b.id);
          const starters = [...new Set(flights.map((flight) => flight.starter).filter(Boolean))];
          const joined = callers.filter((caller) => !starters.includes(caller));
          const started = starters.length ? [...links(starters), ` started ${flights.length > 1 ? "them" : "it"}; `] : [];
          const sent = `${callers.length} requests caused only ${plural(flights.length, "exchange")}: `;
          return [sent, ...started, ...links(joined), " joined."];
        }

        function stepElement(step, request) {
          const phases = step.phases?.length > 1
            ? make("span", { class: "note" }, ` — ${step.phases.map((phase) => segmentText(phase, step.end)).join(", ")}`) : null;
          const offset = duration(Math.max(0, step.start - request.start)), at = make("span", { class: "at" }, offset && `+${offset}`);
          return make("li", {}, makeSwatch(step.kind), make("b", {}, duration(step.ms)), make("span", {}, ...step.parts(), phases), at);
        }

        function explanation(request) {
          const end = request.end ?? Math.max(now(), request.start), steps = stepsOf(request, end), limit = 60;
          const list = make("ol", { class: "steps", "aria-label": "Steps in the order of time" });
          list.append(...steps.slice(0, limit).map((step) => stepElement(step, request)));
          const more = steps.length > limit ? make("p", { class: "note" }, `${steps.length - limit} more steps are not shown.`) : null;
          return [whereTimeWent(request, steps, end), ...facts(request), list, more];
        }

        // MARK: Details

        let details = null, detailsTimer = 0, explained = { request: null, time: 0 };

        function openDetails({ key, request, position }) {
          if (selected !== request.id) details = null;
          selected = request.id;
          setFollowing(false);
          elements.details.hidden = false;
          renderDetails();
          loadDetails(request.id, position);
          measure();
          focusRow(key);
          invalidate();
        }

        function closeDetails() {
          if (selected == null) return;
          selected = details = null;
          elements.details.hidden = true;
          invalidate();
          focusRow(activeKey);
        }

        // Loads the details again if the request has changed. While it runs, its explanation changes with the time.
        function refreshDetails() {
          const request = store.requests.get(selected), isNew = request && explained.request !== request;
          if (isNew || request && isRunning(request) && performance.now() > explained.time + 1_000) renderWhy();
          if (!isNew) return;
          clearTimeout(detailsTimer);
          detailsTimer = setTimeout(() => loadDetails(request.id), 250);
        }

        async function loadDetails(id, exchangeIndex) {
          try {
            const loaded = store.archive ? store.archive.get(id) : await (await send(`/requests/${id}`)).json();
            if (selected !== id) return;
            details = loaded;
            renderDetails(exchangeIndex);
          } catch (error) {
            if (selected !== id) return;
            elements.messages.replaceChildren(make("p", { class: "note" }, safeLine(error.message)));
          }
        }

        function renderDetails(exchangeIndex) {
          const request = store.requests.get(selected);
          if (!request) return;
          const line = `#${request.id}  ${safeLine(request.method, 30)} ${safeLine(request.url, 600)} — ${outcomeWord(request)}`;
          setText(elements.title, line);
          setAttribute(elements.title, "title", safeLine(request.url));
          renderWhy();
          action("copy").hidden = !details?.curl;
          if (!details) return elements.messages.replaceChildren(make("p", { class: "note" }, "Loading…"));
          const top = elements.messages.scrollTop, hadFocus = elements.messages.contains(document.activeElement);
          const response = details.response && messageFold("Response", details.response, true, request.bytesReceived);
          const folds = [response, messageFold("Request", details.request, false, request.bytesSent), exchangesFold(request, exchangeIndex)];
          elements.messages.replaceChildren(...folds.filter(Boolean));
          elements.messages.scrollTop = top;
          elements.messages.querySelector(`[data-fold="exchange ${exchangeIndex}"]`)?.scrollIntoView({ block: "start" });
          if (hadFocus) elements.title.focus();
        }

        function renderWhy() {
          const request = store.requests.get(selected);
          // Replacing a link that has the focus would lose the focus, and replacing text would lose the selection.
          const isSelecting = !getSelection().isCollapsed && elements.why.contains(getSelection().anchorNode);
          const isInUse = explained.request?.id === selected && (isSelecting || elements.why.contains(document.activeElement));
          explained = { request, time: performance.now() };
          if (!request || isInUse) return;
          const section = (title, isShown, ...content) => (isShown ? [make("h3", {}, title), ...content] : []);
          const error = details?.error ?? request.error, warnings = (details?.warnings ?? []).map((text) => make("li", {}, safeLine(text)));
          const tags = Object.entries(request.tags ?? {});
          elements.why.replaceChildren(...[
            make("h3", {}, "Where the time went"), ...explanation(request),
            ...section("Error", error, errorElement(error)),
            ...section("Warnings", warnings.length, make("ul", { class: "warning" }, warnings)),
            ...section("Tags", tags.length, pairs(tags)), ...section("curl", details?.curl, curlElement(details?.curl)),
          ].filter(Boolean));
        }

        function errorElement(error) { return make("pre", { class: !CANCELED.test(error) && "problem" }, safeText(errorText(error))); }
        function curlElement(curl) { return make("pre", { "data-part": "curl" }, safeText(curl)); }

        async function copyCurl() {
          const button = action("copy"), show = (short, long) => { setText(button, short); announce(long); };
          try {
            await navigator.clipboard.writeText(details.curl);
            show("Copied", "Copied.");
          } catch {
            // The page may be served from an address that the browser does not trust with the clipboard.
            getSelection().selectAllChildren(find("[data-part=curl]"));
            show("Selected", "Selected. Press the copy key.");
          }
          setTimeout(setText, 2_000, button, "Copy as curl");
        }

        function pairs(entries) {
          return make("table", { class: "pairs" }, make("tbody", {}, entries.map(([name, value]) =>
            make("tr", {}, make("th", { scope: "row" }, safeLine(name, 400)), make("td", {}, safeLine(value, 8_000))))));
        }

        // A fold, and a node of a JSON tree, make their content when they open: that keeps a large document cheap.
        function lazyDetails(attributes, summary, content) {
          const inner = make("div"), element = make("details", attributes, make("summary", {}, ...summary), inner);
          const fill = () => { if (element.open && !inner.firstChild) inner.append(...content().filter(Boolean)); };
          element.addEventListener("toggle", fill);
          fill();
          return element;
        }

        function fold(key, summary, content, isOpen = false) {
          return lazyDetails({ class: "fold", "data-fold": key, open: isOpen }, summary, content);
        }

        // `bytes` counts a body whose size the message does not tell.
        function messageFold(title, message, isOpen, bytes) {
          const { body } = message, first = message.status ?? safeLine(message.method, 30), count = body?.size ?? (body && bytes);
          const size = count == null ? "" : `, ${byteCount(count)}`;
          const small = make("small", {}, `${plural(message.headers.length, "header field")}${size}`);
          return fold(title, [make("b", {}, title), ` ${first} `, small], () => [
            make("p", { class: "note url" }, safeLine(message.url, 20_000)), pairs(message.headers.map(({ name, value }) => [name, value])),
            ...(body ? bodyElements(body, bytes) : []),
          ], isOpen);
        }

        function exchangesFold(request, openIndex) {
          const list = details.exchanges ?? [];
          if (!list.length) return null;
          return fold("exchanges", [make("b", {}, "Exchanges"), ` ${list.length}`], () => list.map((exchange, index) => {
            const summary = request.exchanges[index], { method, url } = exchange.request;
            const line = `${safeLine(method, 30)} ${safeLine(splitURL(url)[1], 200)}`;
            const outcome = summary ? ` — ${causeText(request, summary)}, ${outcomeText(request, summary)}` : "";
            const content = () => exchangeElements(request, exchange, summary);
            return fold(`exchange ${index}`, [make("b", {}, line), make("small", {}, outcome)], content, index === openIndex);
          }), openIndex != null);
        }

        const CONNECTION_TIMES = new Set(["nameLookup", "connect", "tls", "firstByte"]);
        const CONNECTION_LABELS = {
          nameLookup: "DNS", connect: "Connect", tls: "TLS", firstByte: "First byte after", isReused: "Reused", httpVersion: "Version",
          remoteAddress: "Address", resends: "Resends",
        };

        function exchangeElements(request, exchange, summary) {
          const connection = Object.entries(summary?.connection ?? {}).filter(([, value]) => value != null)
            .map(([name, value]) => [CONNECTION_LABELS[name] ?? name, CONNECTION_TIMES.has(name) ? duration(value) : value]);
          return [
            summary && isStopped(request, summary) ? make("pre", {}, "stopped by the pause") : exchange.error && errorElement(exchange.error),
            exchange.response && messageFold("Response", exchange.response), messageFold("Request", exchange.request),
            ...(connection.length ? [make("h3", {}, "Connection"), pairs(connection)] : []),
            ...(exchange.curl ? [make("h3", {}, "curl"), curlElement(exchange.curl)] : []),
          ];
        }

        // MARK: Bodies

        function bodyElements(body, bytes) {
          if (body.size == null) {
            return [make("h3", {}, `Body: ${bytes ? `${byteCount(bytes)}, ` : ""}${safeLine(body.omitted ?? "of an unknown size", 300)}`)];
          }
          const type = body.mimeType ? `${safeLine(body.mimeType, 100)}, ` : "", note = (text) => make("p", { class: "note" }, text);
          const heading = make("h3", {}, `Body: ${type}${byteCount(body.size)}`), json = parsedJSON(body);
          if (body.omitted) return [heading, note(`Omitted: ${safeLine(body.omitted, 300)}`)];
          const image = imageElement(body);
          if (image) return [heading, image];
          if (body.isBase64 || body.text == null) return [heading, note(body.size ? `binary, ${plural(body.size, "byte")}` : "empty")];
          if (!json) return [heading, textElement(body.text)];
          const tree = make("div", { class: "tree" }, treeNode(null, json, true));
          return [heading, tree, fold("text", ["As text"], () => [textElement(body.text)])];
        }

        function imageElement({ mimeType, text, isBase64, size }) {
          const type = String(mimeType ?? "").split(";")[0].trim().toLowerCase();
          if (!isBase64 || !IMAGE_TYPES.has(type) || !/^[A-Za-z0-9+/=\s]*$/.test(text)) return null;
          return make("img", { class: "body-image", src: `data:${type};base64,${text}`, alt: `The body as an image, ${byteCount(size)}` });
        }

        function textElement(text) {
          const pre = make("pre", { "data-part": "body", tabindex: 0 }, safeText(text.slice(0, BODY_LIMIT)));
          if (text.length <= BODY_LIMIT) return pre;
          const more = make("button", { type: "button" }, `Show all ${text.length.toLocaleString("en-US")} characters`);
          more.addEventListener("click", () => { setText(pre, safeText(text)); more.remove(); });
          return make("div", {}, pre, more);
        }

        // Returns null for other text, and for a document that is a single value, which reads better as text.
        function parsedJSON({ mimeType, text, isBase64 }) {
          if (isBase64 || !/[/+]json\b/i.test(mimeType ?? "") && !/^\s*[[{]/.test(text ?? "")) return null;
          try {
            const value = JSON.parse(text);
            return typeof value === "object" ? value : null;
          } catch {
            return null;
          }
        }

        function treeNode(key, value, isOpen = false) {
          const label = key == null ? [] : [make("span", { class: "key" }, safeLine(key, 300)), ": "];
          if (value === null || typeof value !== "object") {
            const isString = typeof value === "string", text = isString ? JSON.stringify(safeText(value.slice(0, 10_000))) : String(value);
            return make("div", {}, ...label, make("span", { class: isString ? "string" : "other" }, text));
          }
          const entries = Object.entries(value), count = Array.isArray(value) ? `[${entries.length}]` : `{${entries.length}}`;
          const rest = entries.length > LIST_LIMIT ? make("div", {}, `… ${entries.length - LIST_LIMIT} more in the text`) : null;
          const children = () => entries.slice(0, LIST_LIMIT).map(([name, child]) => treeNode(name, child, isOpen && entries.length <= 20));
          return lazyDetails({ open: isOpen }, [...label, count], () => [...children(), rest]);
        }

        // MARK: Server

        const token = new URLSearchParams(location.search).get("token") ?? "";
        function address(path) { return `${path}?token=${encodeURIComponent(token)}`; }

        async function send(path, options) {
          const response = await fetch(address(path), options);
          if (response.status === 404) throw new Error("Ness no longer keeps this request.");
          if (!response.ok) throw new Error(`The server responded with ${response.status}.`);
          return response;
        }

        function connect() {
          const events = new EventSource(address("/events"));
          const show = (state) => { connectionState = state; renderConnection(); };
          events.onopen = () => show("live");
          events.onmessage = (event) => receive(JSON.parse(event.data));
          events.onerror = () => {
            show("lost");
            // The browser does not reconnect after an HTTP error.
            if (events.readyState === EventSource.CLOSED) setTimeout(connect, 2_000);
          };
        }

        function receive(batch) {
          clock = batch.now - performance.now();
          // A pause may be long: a store keeps only the newest version of each request.
          (isPaused ? held : live).apply(batch);
          if (isPaused) renderConnection(); else if (store === live) invalidate(true);
        }

        function renderConnection() {
          const state = store !== live ? "file" : connectionState === "live" && isPaused ? "paused" : connectionState;
          const waiting = [...held.requests.keys()].filter((id) => !live.requests.has(id)).length;
          const texts = { paused: `paused · ${waiting.toLocaleString("en-US")} new`, lost: "connection lost — reconnecting" };
          setAttribute(elements.connection, "data-state", state);
          setText(elements.connection, texts[state] ?? state);
        }

        function togglePause() {
          pausedAt = performance.now() + clock;
          isPaused = !isPaused;
          if (!isPaused) live.apply({ ...held, requests: held.inOrder() });
          held = new Store();
          setAttribute(action("pause"), "aria-pressed", String(isPaused));
          setText(action("pause"), isPaused ? "Resume" : "Pause");
          renderConnection();
          invalidate(true);
        }

        async function clear() {
          await send("/clear", { method: "POST" });
          if (isPaused) togglePause();
        }

        async function exportArchive() {
          const body = JSON.stringify(shown.map(({ id }) => id)), headers = { "Content-Type": "application/json" };
          const url = URL.createObjectURL(await (await send("/har", { method: "POST", headers, body })).blob());
          make("a", { href: url, download: "ness.har" }).click();
          setTimeout(() => URL.revokeObjectURL(url), 10_000);
        }

        // MARK: HAR

        async function importArchive(file) {
          const archive = JSON.parse(await file.text());
          if (!Array.isArray(archive?.log?.entries)) throw new Error("It has no log.entries.");
          showStore(archivedStore(archive.log.entries));
          elements.banner.firstElementChild.replaceChildren("From file ", make("bdi", {}, safeLine(file.name, 200)), " —");
        }

        function archivedStore(entries) {
          const result = new Store(), timed = entries.map((entry) => ({ time: Date.parse(entry?.startedDateTime), entry: entry ?? {} }));
          const first = timed.reduce((least, { time }) => (time < least ? time : least), Infinity);
          const order = timed.map(({ time, entry }) => ({ start: time - first || 0, entry })).sort((a, b) => a.start - b.start);
          const requests = order.map(({ start, entry }, index) => archivedRequest(index + 1, start, entry));
          result.archive = new Map(requests.map((summary, index) => [summary.id, archivedDetails(summary, order[index].entry)]));
          const sum = (value) => requests.reduce((total, summary) => total + value(summary), 0);
          const totals = {
            requests: requests.length, exchanges: sum(({ exchanges }) => exchanges.length), failed: requests.filter(isBad).length,
            bytesReceived: sum(({ bytesReceived }) => bytesReceived), bytesSent: sum(({ bytesSent }) => bytesSent),
          };
          result.apply({ requests, totals });
          return result;
        }

        // A file may be from any program, so nothing in it is trusted.
        function amount(value) { return typeof value === "number" && value > 0 && Number.isFinite(value) ? value : 0; }

        function archivedRequest(id, start, { request = {}, response = {}, ...entry }) {
          const url = String(request.url ?? ""), method = String(request.method ?? ""), [host, path] = splitURL(url);
          const timings = entry.timings ?? {}, blocked = amount(timings.blocked), dns = amount(timings.dns), tls = amount(timings.ssl);
          // In the format, the time to connect includes TLS.
          const connect = Math.max(0, amount(timings.connect) - tls);
          const head = start + blocked + dns + connect + tls + amount(timings.send) + amount(timings.wait);
          const end = Math.max(start + amount(entry.time), head + amount(timings.receive)), status = amount(response.status) || null;
          const problem = response._error ?? (status ? null : "no response"), error = problem && String(problem);
          const connection = { nameLookup: dns, connect, tls, isReused: !(dns + connect + tls), remoteAddress: entry.serverIPAddress };
          const exchange = { id, isJoined: false, attempt: 1, method, url, start: start + blocked, head, end, status, error, connection };
          return {
            id, method, url, host, path, tags: {}, start, end, state: status ? "succeeded" : "failed", status, error,
            source: !status ? null : entry.time === 0 ? "cache" : "network", attempts: 1, bytesSent: amount(request.bodySize),
            bytesReceived: amount(response.bodySize) || amount(response.content?.size),
            spans: blocked ? [{ kind: "hostQueue", start, end: start + blocked, note: "blocked" }] : [],
            exchanges: entry.time === 0 ? [] : [exchange],
          };
        }

        function archivedDetails({ method, url, status, error }, { request = {}, response = {} }) {
          return {
            request: { ...archivedMessage(url, request, request.postData), method },
            response: status ? { ...archivedMessage(url, response, response.content), status } : null, error, exchanges: [],
          };
        }

        function archivedMessage(url, message, content) {
          const headers = Array.isArray(message.headers) ? message.headers : [];
          const text = typeof content?.text === "string" ? content.text : null, size = amount(content?.size) || text?.length || 0;
          const body = { mimeType: String(content?.mimeType ?? ""), size, text, isBase64: content?.encoding === "base64" };
          const pair = (field) => ({ name: String(field?.name ?? ""), value: String(field?.value ?? "") });
          return { url, headers: headers.map(pair), body: size ? body : null };
        }

        function showStore(next) {
          store = next;
          selected = details = null;
          expanded.clear();
          elements.details.hidden = true;
          elements.banner.hidden = next === live;
          for (const name of ["pause", "clear", "export", "follow"]) action(name).disabled = next !== live;
          axis.zoom = 1;
          elements.list.scrollTop = 0;
          renderConnection();
          invalidate(true);
        }

        // MARK: Announcements

        function attempt(work, problem) { work.catch((error) => announce(`${problem} ${error.message}`, true)); }

        function announce(text, isProblem = false) {
          setText(elements.status, text);
          if (!isProblem) return;
          const notice = make("span", { class: "problem", "data-notice": true }, safeLine(text, 300));
          find("[data-notice]")?.remove();
          elements.connection.after(notice);
          setTimeout(() => notice.remove(), 8_000);
        }

        // MARK: Keyboard and pointer

        function focusRow(key) {
          const index = items.findIndex((item) => item.key === key);
          if (index < 0) return;
          activeKey = key;
          const top = index * ROW_HEIGHT, bottom = top + 2 * ROW_HEIGHT - view.height;
          if (top < view.top) setFollowing(false);
          if (top < view.top || bottom > view.top) scrollListTo(top < view.top ? top : bottom);
          renderRows();
          views.get(key)?.element.focus({ preventScroll: true });
        }

        function goTo(id) {
          if (!shown.some((request) => request.id === id)) {
            [elements.search.value, elements.filter.value] = ["", "all"];
            rebuildItems();
            invalidate(true);
          }
          const item = itemAt(String(id));
          if (item) openDetails(item); else announce("Ness no longer keeps this request.", true);
        }

        function toggleRow(id) {
          if (!expanded.delete(id)) expanded.add(id);
          invalidate(true);
        }

        function moveBy(steps) {
          const index = items.findIndex((item) => item.key === activeKey);
          focusRow(items[Math.min(items.length - 1, Math.max(0, index + steps))]?.key);
        }

        function pageOfRows() { return Math.floor(view.height / ROW_HEIGHT) - 2; }

        function goRight({ request, exchange }) {
          if (exchange || !request.exchanges.length) return;
          if (expanded.has(request.id)) moveBy(1); else toggleRow(request.id);
        }

        function goLeft({ request, exchange }) {
          if (exchange) focusRow(String(request.id)); else if (expanded.has(request.id)) toggleRow(request.id);
        }

        const ROW_KEYS = {
          ArrowDown: () => moveBy(1), ArrowUp: () => moveBy(-1), Home: () => moveBy(-Infinity), End: () => moveBy(Infinity),
          PageDown: () => moveBy(pageOfRows()), PageUp: () => moveBy(-pageOfRows()),
          ArrowRight: goRight, ArrowLeft: goLeft, Enter: openDetails, " ": openDetails,
        };
        const ACTIONS = {
          pause: togglePause, clear: () => attempt(clear(), "The list cannot be cleared."),
          export: () => attempt(exportArchive(), "The requests cannot be exported."), import: () => elements.file.click(),
          back: () => showStore(live),
          "zoom-in": () => zoom(ZOOM_STEP), "zoom-out": () => zoom(1 / ZOOM_STEP), fit: () => zoom(0),
          follow: () => setFollowing(!isFollowing), close: closeDetails, copy: copyCurl,
        };
        const PAGE_KEYS = {
          "/": () => elements.search.focus(), "+": ACTIONS["zoom-in"], "=": ACTIONS["zoom-in"], "-": ACTIONS["zoom-out"], "0": ACTIONS.fit,
          Escape: closeDetails,
        };

        function handleKey(event) {
          if (event.ctrlKey || event.metaKey || event.altKey) return;
          const row = event.target.closest?.(".row"), isField = event.target.matches?.("input, select, textarea");
          const handler = row && ROW_KEYS[event.key] || (!isField || event.key === "Escape") && PAGE_KEYS[event.key];
          if (!handler) return;
          event.preventDefault();
          if (event.key === "Escape" && event.target === elements.search && elements.search.value) {
            elements.search.value = "";
            return invalidate(true);
          }
          handler(row ? itemAt(row.dataset.key) : null);
        }

        function handleClick(event) {
          const target = event.target.closest("[data-goto], [data-action], .row");
          if (!target) return;
          if (target.matches("a")) event.preventDefault();
          if (target.dataset.goto) return goTo(Number(target.dataset.goto));
          if (target.dataset.action) return ACTIONS[target.dataset.action]?.();
          const item = itemAt(target.dataset.key);
          if (event.target.closest(".disclosure") && !item.exchange && item.request.exchanges.length) {
            toggleRow(item.request.id);
            focusRow(item.key);
          } else if (getSelection().isCollapsed) {
            // A click at the end of a selection is meant for the selection.
            openDetails(item);
          }
        }

        function handleScroll() {
          const { scrollTop } = elements.list;
          if (isFollowing && scrollTop < view.setTop - ROW_HEIGHT && scrollTop < view.top + view.older) setFollowing(false);
          view.top = scrollTop - view.older;
          invalidate();
        }

        function measure() {
          view.width = elements.list.clientWidth;
          view.height = elements.list.clientHeight;
          view.listWidth = elements.head.firstElementChild.offsetWidth;
        }

        function start() {
          elements.head.firstElementChild.append(...Object.entries(COLUMNS).map(([name, label]) =>
            make("span", { role: "columnheader", "data-column": name }, label || make("span", { class: "unseen" }, "Shared exchange"))));
          elements.totals.append(...Object.keys(TOTALS).map((name) => make("div", {}, make("dt"), make("dd", { "data-total": name }))));
          elements.legend.append(...Object.entries(KINDS).map(([kind, { label }]) => make("li", {}, makeSwatch(kind), label)));
          document.addEventListener("click", handleClick);
          document.addEventListener("keydown", handleKey);
          document.addEventListener("visibilitychange", () => invalidate());
          for (const field of [elements.search, elements.filter]) field.addEventListener("input", () => invalidate(true));
          elements.list.addEventListener("scroll", handleScroll, { passive: true });
          elements.file.addEventListener("change", () => {
            if (elements.file.files[0]) attempt(importArchive(elements.file.files[0]), "This is not a HAR file.");
            elements.file.value = "";
          });
          new ResizeObserver(() => { measure(); invalidate(true); }).observe(elements.list);
          measure();
          invalidate(true);
          connect();
        }

        start();
        """#
}
