extension InspectorPage {
    /// The script, in JavaScript. A server's text enters the page as the text of a node, never as markup.
    static let script = #"""
        "use strict";

        const KINDS = {
          hostQueue: { label: "host queue", isWait: true }, throttle: { label: "throttle", isWait: true },
          dns: { label: "DNS" }, connect: { label: "connect" }, tls: { label: "TLS" },
          waiting: { label: "waiting for the head" }, receiving: { label: "receiving" },
          refresh: { label: "token refresh", isWait: true }, refreshWait: { label: "another's refresh", isWait: true },
          retry: { label: "pause before a retry", isWait: true }, pause: { label: "paused", isWait: true },
          network: { label: "no network", isWait: true }, decode: { label: "decode" },
        };
        const COLUMNS = {
          id: "#", method: "Method", path: "Path", status: "Status", source: "Source", tries: "Tries", bytes: "Bytes", time: "Time", flight: "",
        };
        const TOTALS = {
          requests: ["request", "requests"], exchanges: ["exchange", "exchanges"], joined: ["saved by coalescing"], cached: ["saved by the cache"],
          retries: ["retry", "retries"], failed: ["error", "errors"], bytesReceived: ["received"], bytesSent: ["sent"],
        };
        const ROW_HEIGHT = 26, OVERSCAN = 8, SMALL_LIST = 60, GAP_WIDTH = 30, BAR_HEIGHT = 12, LANES = 4;
        const BODY_LIMIT = 100_000, CONTENT_LIMIT = 4_000_000;
        const IMAGE_TYPES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);
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
          if (ms === 0) return "0 ms";
          if (ms < 9.95) return `${ms.toFixed(1)} ms`;
          if (ms < 999.5) return `${Math.round(ms)} ms`;
          if (ms < 59_995) return `${(ms / 1_000).toFixed(2)} s`;
          const minutes = Math.floor(Math.round(ms / 1_000) / 60), seconds = Math.round(ms / 1_000) % 60;
          if (minutes < 60) return seconds ? `${minutes} min ${seconds} s` : `${minutes} min`;
          return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
        }

        function byteCount(count) {
          if (!(count >= 1_000)) return `${count || 0} B`;
          const units = ["kB", "MB", "GB", "TB"];
          let value = count / 1_000;
          while (value >= 999.5 && units.length > 1) { value /= 1_000; units.shift(); }
          return `${value < 9.95 ? value.toFixed(1) : Math.round(value)} ${units[0]}`;
        }

        function plural(count, noun) { return `${count.toLocaleString("en-US")} ${noun}${count === 1 ? "" : "s"}`; }

        // MARK: Elements

        const find = (selector) => document.querySelector(selector);
        const elements = {
          connection: find(".connection"), totals: find(".totals"), search: find("[data-field=search]"), filter: find("[data-field=filter]"),
          file: find("[data-field=file]"), banner: find("[data-panel=banner]"), list: find(".list"), head: find(".head"), ticks: find(".ticks"),
          rows: find(".rows"), lines: find(".lines"), brackets: find(".brackets"), empty: find(".empty"), handle: find(".handle"),
          details: find(".details"), title: find(".details h2"), why: find("[data-part=why]"), messages: find("[data-part=messages]"),
          legend: find(".legend"), status: find("[role=status]"),
        };

        function make(tag, attributes = {}, ...children) {
          const element = document.createElement(tag);
          for (const [name, value] of Object.entries(attributes)) {
            if (value != null && value !== false) element.setAttribute(name, value === true ? "" : value);
          }
          element.append(...children.flat().filter((child) => child != null));
          return element;
        }

        // Writing only what has changed keeps the browser from computing style and layout again.
        function setText(element, text) { if (element.textContent !== text) element.textContent = text; }

        function setAttribute(element, name, value) {
          if (value == null || value === false) {
            if (element.hasAttribute(name)) element.removeAttribute(name);
          } else if (element.getAttribute(name) !== String(value)) {
            element.setAttribute(name, value);
          }
        }

        function action(name) { return find(`[data-action="${name}"]`); }

        // MARK: Requests

        class Store {
          epoch = 0;
          requests = new Map();
          flights = new Map();
          totals = {};
          archive = null;
          hasForgotten = false;
          #phases = new WeakMap();

          apply(batch) {
            if (batch.epoch) this.epoch = Date.parse(batch.epoch) || 0;
            if (batch.totals) this.totals = batch.totals;
            if (batch.kept) this.keepOnly(new Set(batch.kept));
            for (const request of batch.requests ?? []) this.requests.set(request.id, request);
            this.#findFlights();
          }

          keepOnly(ids) {
            for (const id of this.requests.keys()) {
              if (!ids.has(id)) this.hasForgotten = this.requests.delete(id);
            }
          }

          inOrder() { return [...this.requests.values()].sort((a, b) => a.id - b.id); }

          #findFlights() {
            this.flights.clear();
            for (const request of this.inOrder()) {
              for (const exchange of request.exchanges) this.#add(request, exchange);
            }
          }

          #add(request, exchange) {
            let flight = this.flights.get(exchange.id);
            if (!flight) this.flights.set(exchange.id, flight = { id: exchange.id, callers: [], starter: null, first: null });
            // A caller that left an exchange and joined it again lists it twice.
            if (flight.callers.at(-1) !== request) flight.callers.push(request);
            if (!exchange.isJoined && !flight.starter) Object.assign(flight, { starter: request, first: exchange });
          }

          flightsOf(request) {
            const ids = new Set(request.exchanges.map((exchange) => exchange.id));
            return [...ids].map((id) => this.flights.get(id)).filter((flight) => flight?.callers.length > 1);
          }

          isShared(request) { return request.exchanges.some((exchange) => exchange.isJoined) || this.flightsOf(request).length > 0; }

          // The measurements count from the start of the exchange, which a joined caller did not see.
          phases(exchange) {
            let phases = this.#phases.get(exchange);
            if (!phases) this.#phases.set(exchange, phases = phasesOf(exchange, this.flights.get(exchange.id)?.first));
            return phases;
          }

          refreshers(request, span) {
            return this.#overlapping(request, span, "refresh").slice(0, 1);
          }

          refreshWaiters(request, span) { return this.#overlapping(request, span, "refreshWait"); }

          #overlapping(request, span, kind) {
            const found = [];
            for (const other of this.requests.values()) {
              if (other === request) continue;
              const shared = Math.max(0, ...other.spans.filter((s) => s.kind === kind).map((s) => overlap(s, span)));
              if (shared > 0) found.push({ other, shared: shared * (other.host === request.host ? 2 : 1) });
            }
            if (kind === "refresh") found.sort((a, b) => b.shared - a.shared);
            return found.map((entry) => entry.other);
          }
        }

        function overlap(a, b) { return Math.min(a.end ?? Infinity, b.end ?? Infinity, Number.MAX_SAFE_INTEGER) - Math.max(a.start, b.start); }

        function phasesOf(exchange, first) {
          const phases = [], connection = exchange.connection, origin = exchange.isJoined ? first?.start ?? null : exchange.start;
          const limit = exchange.head ?? exchange.end ?? Infinity;
          let cursor = origin ?? exchange.start;
          const add = (kind, end) => {
            const start = Math.max(cursor, exchange.start);
            if (end == null || end > start) phases.push({ kind, start, end });
            cursor = end ?? cursor;
          };
          if (connection && !connection.isReused && origin != null) {
            for (const [kind, time] of [["dns", connection.nameLookup], ["connect", connection.connect], ["tls", connection.tls]]) {
              if (time > 0) add(kind, Math.min(cursor + time, limit));
            }
          }
          add("waiting", exchange.head ?? exchange.end);
          if (exchange.head != null) add("receiving", exchange.end);
          return phases;
        }

        function isRunning(request) { return request.end == null; }
        function isBad(request) { return request.state === "failed" || request.status >= 400; }
        function hasCacheSource(request) { return ["cache", "stale", "revalidated"].includes(request.source); }

        const searchTexts = new WeakMap();

        function searchText(request) {
          let text = searchTexts.get(request);
          if (text === undefined) {
            const tags = Object.entries(request.tags ?? {}).flat();
            text = [`#${request.id}`, request.method, request.host + request.path, request.status, ...tags].join("\n").toLowerCase();
            searchTexts.set(request, text);
          }
          return text;
        }

        const FILTERS = {
          all: () => true,
          running: isRunning,
          errors: isBad,
          cache: hasCacheSource,
          shared: (request) => store.isShared(request),
        };

        // MARK: State

        const live = new Store();
        let store = live;
        let connectionState = "connecting";
        let clock = 0;
        let isPaused = false, pausedAt = 0, waiting = [];
        let isFollowing = true;
        let items = [], shown = [], hasSeveralHosts = false, brackets = [];
        let activeKey = null, selected = null;
        const expanded = new Set();
        const views = new Map();
        const view = { top: 0, left: 0, width: 0, height: 0, listWidth: 0, setTop: 0 };
        let dirty = { data: true, axis: true }, frame = 0, timer = 0;

        function now() { return store === live ? (isPaused ? pausedAt : performance.now() + clock) : Infinity; }

        function invalidate(part) {
          if (part) dirty[part] = true;
          frame ||= requestAnimationFrame(render);
        }

        function render() {
          frame = 0;
          if (dirty.data) rebuildItems();
          if (dirty.axis || axis.isOutgrown()) rebuildAxis();
          followNewest();
          renderAxis();
          renderRows();
          renderBrackets();
          if (dirty.data) renderSummary();
          dirty = { data: false, axis: false };
          if (shown.some(isRunning) && store === live && !isPaused && !document.hidden) {
            clearTimeout(timer);
            timer = setTimeout(invalidate, reducedMotion.matches ? 1_000 : 100);
            updateRunningDetails();
          }
        }

        function rebuildItems() {
          const filter = FILTERS[elements.filter.value], terms = elements.search.value.toLowerCase().split(/\s+/).filter(Boolean);
          shown = store.inOrder().filter((request) => filter(request) && terms.every((term) => searchText(request).includes(term)));
          items = [];
          for (const [position, request] of shown.entries()) {
            items.push({ key: `${request.id}`, request, position });
            if (!expanded.has(request.id)) continue;
            request.exchanges.forEach((exchange, index) => items.push({ key: `${request.id}/${index}`, request, exchange, position: index }));
          }
          hasSeveralHosts = new Set(shown.map((request) => request.host)).size > 1;
          if (!items.some((item) => item.key === activeKey)) activeKey = items[0]?.key ?? null;
          elements.rows.style.height = `${items.length * ROW_HEIGHT}px`;
          elements.rows.hidden = !items.length;
          setAttribute(elements.list, "aria-rowcount", items.length + 1);
          brackets = findBrackets();
          dirty.axis = true;
        }

        function renderSummary() {
          for (const [name, [one, several = one]] of Object.entries(TOTALS)) {
            const value = store.totals[name] ?? 0, entry = find(`[data-total="${name}"]`);
            setText(entry.previousSibling, value === 1 ? one : several);
            setText(entry, name.startsWith("bytes") ? byteCount(value) : value.toLocaleString("en-US"));
            if (name === "failed") entry.parentElement.classList.toggle("is-bad", value > 0);
          }
          elements.empty.hidden = items.length > 0;
          const isEmpty = !store.requests.size;
          setText(elements.empty, isEmpty ? "No requests yet. They appear here as the client sends them." : "No request matches the filter.");
          announceCount();
          if (selected != null) refreshDetails();
        }

        // MARK: Time axis

        const axis = {
          segments: [], scale: 1, zoom: null, width: 0, end: 0, origin: 0, version: 0,

          isOutgrown() { return store === live && now() > this.end && shown.some(isRunning); },

          x(time) {
            let low = 0, high = this.segments.length - 1;
            while (low < high) {
              const middle = (low + high + 1) >> 1;
              if (this.segments[middle].from <= time) low = middle; else high = middle - 1;
            }
            const segment = this.segments[low];
            return segment ? segment.x + (Math.min(Math.max(time, segment.from), segment.to) - segment.from) * this.scale : 0;
          },

          time(x) {
            const segment = this.segments.findLast((candidate) => candidate.x <= x) ?? this.segments[0];
            return Math.min(segment.to, segment.from + Math.max(0, x - segment.x) / this.scale);
          },
        };

        function rebuildAxis() {
          const time = now(), busy = busySegments(time), available = Math.max(120, view.width - view.listWidth - 14);
          const total = busy.reduce((sum, segment) => sum + segment.to - segment.from, 0);
          const gapWidth = axis.zoom ? GAP_WIDTH : Math.min(GAP_WIDTH, available * 0.3 / busy.length);
          const fit = (available - gapWidth * (busy.length - 1)) / total;
          if (axis.zoom && axis.zoom <= fit) axis.zoom = null;
          axis.scale = axis.zoom ? Math.min(axis.zoom, CONTENT_LIMIT / total) : fit;
          let x = 6;
          for (const segment of busy) {
            segment.x = x;
            x += (segment.to - segment.from) * axis.scale + gapWidth;
          }
          const key = [axis.scale, gapWidth, view.listWidth, ...busy.flatMap((segment) => [segment.from, segment.to])].join();
          if (key === axis.key) return;
          Object.assign(axis, { key, segments: busy, width: x - gapWidth + 8, end: busy.at(-1).to, origin: busy[0].from, gapWidth });
          axis.version += 1;
          const width = Math.max(view.width, view.listWidth + axis.width);
          elements.rows.style.width = elements.head.style.width = `${width}px`;
          elements.list.classList.toggle("is-wide", width > view.width);
        }

        // Returns the stretches of time with a request. A long idle time between two of them is collapsed to a narrow gap.
        function busySegments(time) {
          const spans = shown.map((request) => ({ from: request.start, to: Math.max(request.start + 0.5, request.end ?? time) }));
          spans.sort((a, b) => a.from - b.from);
          if (!spans.length) return [{ from: 0, to: 1_000 }];
          const tight = mergeSpans(spans, 0);
          const busy = tight.reduce((sum, span) => sum + span.to - span.from, 0);
          const segments = mergeSpans(tight, Math.max(1_000, busy * 0.12));
          const last = segments.at(-1);
          last.to = Math.max(last.to, last.from + 5);
          // Rounding keeps the scale still while requests run and while the server forgets old ones: a new scale moves every bar.
          if (last.to < time) return segments;
          const step = 10 ** Math.floor(Math.log10(last.to - last.from)) / 2;
          if (store.hasForgotten) segments[0].from = Math.floor(segments[0].from / step) * step;
          last.to = last.from + Math.ceil((last.to - last.from) * 1.02 / step) * step;
          return segments;
        }

        function mergeSpans(spans, tolerance) {
          const merged = [];
          for (const { from, to } of spans) {
            const last = merged.at(-1);
            if (last && from - last.to <= tolerance) last.to = Math.max(last.to, to); else merged.push({ from, to });
          }
          return merged;
        }

        function tickStep() {
          const least = 64 / axis.scale, power = 10 ** Math.floor(Math.log10(least));
          if (least > 20_000) return [30_000, 60_000, 120_000, 300_000, 600_000, 1_800_000].find((step) => step >= least) ?? power * 10;
          return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= least);
        }

        function tickLabel(offset) {
          if (offset === 0) return "0";
          if (offset < 1_000) return `${+offset.toFixed(3)} ms`;
          if (offset < 60_000) return `${+(offset / 1_000).toFixed(4)} s`;
          const seconds = +(offset % 60_000 / 1_000).toFixed(3), minutes = Math.floor(offset / 60_000);
          return `${minutes}:${seconds < 10 ? "0" : ""}${seconds}`;
        }

        let drawnAxis = "";

        function renderAxis() {
          const key = [axis.version, view.left, view.width].join();
          if (key === drawnAxis) return;
          drawnAxis = key;
          const labels = [], lines = [], taken = [], step = tickStep(), from = view.left - 100, to = view.left + view.width;
          const label = (left, width, text, name) => {
            if (taken.some((other) => left < other.right && left + width > other.left)) return;
            taken.push({ left, right: left + width + 6 });
            labels.push(place(make("span", { class: name }, text), left, name && width));
          };
          const visible = axis.segments.filter((segment) => segment.x - axis.gapWidth < to && axis.x(segment.to) > from);
          for (const segment of visible) {
            const previous = axis.segments[axis.segments.indexOf(segment) - 1], left = segment.x - axis.gapWidth;
            if (!previous) continue;
            const text = duration(segment.from - previous.to), width = textWidth(text);
            label(left + (axis.gapWidth - width) / 2, width, text, "gap");
            lines.push(place(make("i", { class: "gap" }), left + 3, axis.gapWidth - 6));
          }
          for (const segment of visible) {
            const start = Math.max(segment.from, axis.time(Math.max(from, segment.x))), end = Math.min(segment.to, axis.time(to));
            for (let n = Math.ceil((start - axis.origin) / step - 1e-6); axis.origin + n * step <= end && segment.x < to; n += 1) {
              const x = segment.x + (axis.origin + n * step - segment.from) * axis.scale;
              if (x < from) continue;
              lines.push(place(make("i"), x));
              label(x, textWidth(tickLabel(n * step)), tickLabel(n * step));
            }
          }
          elements.ticks.replaceChildren(...labels);
          elements.lines.replaceChildren(...lines);
        }

        // An estimate: measuring would force a layout.
        function textWidth(text) { return 8 + text.length * 6.6; }

        function place(element, left, width) {
          element.style.left = `${left}px`;
          if (width) element.style.width = `${width}px`;
          return element;
        }

        function zoom(factor) {
          const request = itemAt(activeKey)?.request, width = view.width - view.listWidth;
          const x = request ? axis.x(request.start) - view.left : -1;
          const isVisible = x >= 0 && x < width, anchor = isVisible ? x : width / 2, time = axis.time(view.left + anchor);
          axis.zoom = factor ? axis.scale * factor : null;
          rebuildAxis();
          elements.list.scrollLeft = view.left = Math.max(0, axis.x(time) - anchor);
          dirty.axis = true;
          invalidate();
        }

        function followNewest() {
          if (!isFollowing || store !== live || !dirty.data && !dirty.axis) return;
          const top = Math.max(0, (items.length + 1) * ROW_HEIGHT - view.height);
          if (Math.abs(view.top - top) > 1) elements.list.scrollTop = view.setTop = view.top = top;
          if (axis.zoom && shown.length) {
            const end = Math.max(...shown.slice(-50).map((request) => request.end ?? now()));
            const left = axis.x(end) - (view.width - view.listWidth) + 40;
            if (Math.abs(view.left - left) > 1) elements.list.scrollLeft = view.left = Math.max(0, left);
          }
        }

        function setFollowing(value) {
          isFollowing = value;
          setAttribute(action("follow"), "aria-pressed", String(value));
          if (value) invalidate("axis");
        }

        // MARK: Rows

        function itemAt(key) { return items.find((item) => item.key === key); }

        // In a long list, only the rows in view, some beyond, and the row with the focus are elements.
        function renderRows() {
          const isSmall = items.length <= SMALL_LIST, first = isSmall ? 0 : Math.max(0, Math.floor(view.top / ROW_HEIGHT) - OVERSCAN);
          const last = isSmall ? items.length : Math.min(items.length, Math.ceil((view.top + view.height) / ROW_HEIGHT) + OVERSCAN);
          const active = items.findIndex((item) => item.key === activeKey), wanted = [];
          if (active >= 0 && active < first) wanted.push(active);
          for (let index = first; index < last; index += 1) wanted.push(index);
          if (active >= last) wanted.push(active);
          const keys = new Set(wanted.map((index) => items[index].key));
          for (const [key, row] of views) {
            if (!keys.has(key)) { row.element.remove(); views.delete(key); }
          }
          let cursor = elements.brackets.nextSibling;
          for (const index of wanted) {
            const item = items[index], row = views.get(item.key) ?? makeRow(item);
            if (row.element === cursor) cursor = cursor.nextSibling; else elements.rows.insertBefore(row.element, cursor);
            updateRow(row, item, index);
          }
        }

        function makeRow(item) {
          const cells = Object.fromEntries(Object.keys(COLUMNS).map((name) => [name, make("span", { role: "gridcell", "data-column": name })]));
          const extent = make("span", { class: "extent", "aria-hidden": "true" }), time = make("div", { class: "time", role: "gridcell" }, extent);
          const left = make("div", { class: "cells", role: "presentation" }, Object.values(cells));
          const element = make("div", { role: "row", tabindex: -1 }, left, time);
          cells.id.append(make("span", { class: "disclosure" }), make("span"));
          cells.path.append(make("span"), make("span", { class: "host" }));
          setAttribute(element, item.exchange ? "data-exchange" : "data-request", (item.exchange ?? item.request).id);
          if (item.exchange) setAttribute(element, "data-of", item.request.id);
          element.dataset.key = item.key;
          const row = { element, cells, time, extent, bars: [], summary: null, drawn: -1 };
          views.set(item.key, row);
          return row;
        }

        function updateRow(row, item, index) {
          const { element } = row;
          if (row.index !== index) element.style.transform = `translateY(${index * ROW_HEIGHT}px)`;
          row.index = index;
          setAttribute(element, "tabindex", item.key === activeKey ? 0 : -1);
          setAttribute(element, "aria-selected", String(selected === item.request.id && !item.exchange));
          if (dirty.data || !row.summary) fillRow(row, item, index);
          const isOpen = (item.exchange ?? item.request).end == null;
          if (isOpen) setText(row.cells.time, duration(now() - (item.exchange ?? item.request).start));
          if (isOpen || row.drawn !== axis.version) drawBars(row, item);
        }

        function fillRow(row, item, index) {
          const { element, cells } = row, { request, exchange } = item;
          setAttribute(element, "aria-rowindex", index + 2);
          setAttribute(element, "aria-level", exchange ? 2 : 1);
          setAttribute(element, "aria-posinset", item.position + 1);
          setAttribute(element, "aria-setsize", exchange ? request.exchanges.length : shown.length);
          if (!exchange) setAttribute(element, "aria-expanded", request.exchanges.length ? String(expanded.has(request.id)) : null);
          const isNew = row.summary !== request;
          if (!isNew && row.hasHost === hasSeveralHosts) {
            if (!exchange) setText(cells.source, sourceText(request));
            return;
          }
          row.summary = request;
          row.hasHost = hasSeveralHosts;
          const texts = exchange ? exchangeTexts(request, exchange) : requestTexts(request);
          const [host, path] = exchange ? splitURL(exchange.url) : [request.host, request.path];
          setText(cells.id.lastChild, texts.id);
          setText(cells.path.lastChild, hasSeveralHosts || host !== request.host ? safeLine(host, 200) : "");
          setText(cells.path.firstChild, safeLine(path, 300));
          for (const name of ["method", "status", "source", "tries", "bytes", "time"]) setText(cells[name], texts[name]);
          setAttribute(cells.path, "title", safeLine(texts.title));
          setAttribute(cells.source, "title", texts.source);
          setAttribute(cells.bytes, "title", texts.bytesTitle);
          element.className = `row ${texts.state}`;
          if (isNew) {
            row.segments = exchange ? exchangeSegments(exchange) : requestSegments(request);
            row.drawn = -1;
          }
        }

        function requestTexts(request) {
          const state = isBad(request) ? "is-bad" : `is-${request.state}`;
          const word = { running: "running", paused: "paused", failed: "failed", dropped: "dropped" }[request.state];
          return {
            id: `${request.id}`, method: safeLine(request.method, 30), status: request.status == null ? word ?? "" : `${request.status}`,
            source: sourceText(request), tries: request.attempts ? `${request.attempts}` : "",
            bytes: request.bytesReceived ? byteCount(request.bytesReceived) : "",
            bytesTitle: `${byteCount(request.bytesReceived)} received, ${byteCount(request.bytesSent)} sent`,
            time: isRunning(request) ? duration(now() - request.start) : duration(request.end - request.start), state,
            title: request.error ? `${request.url} — ${request.error}` : request.url,
          };
        }

        function exchangeTexts(request, exchange) {
          const state = exchange.error || exchange.status >= 400 ? "is-bad" : exchange.status >= 300 ? "is-warn" : "";
          return {
            id: "", method: safeLine(exchange.method, 30), status: `${exchange.status ?? (exchange.error ? "failed" : "…")}`,
            source: exchange.isJoined ? joinedText(exchange) : `attempt ${exchange.attempt}${reasonText(request, exchange)}`,
            tries: `${exchange.attempt}`, bytes: "", time: exchange.end == null ? "" : duration(exchange.end - exchange.start), state,
            title: exchange.error ? `${exchange.url} — ${exchange.error}` : exchange.url,
          };
        }

        // Tells why an attempt has another exchange.
        function reasonText(request, exchange) {
          if (exchange.status === 206) return " · range";
          const previous = request.exchanges[request.exchanges.indexOf(exchange) - 1];
          if (previous?.attempt !== exchange.attempt) return "";
          if (previous.status === 401 || previous.status === 407) return " · renewed";
          return previous.status >= 300 && previous.status < 400 ? " · redirect" : "";
        }

        function joinedText(exchange) {
          const starter = store.flights.get(exchange.id)?.starter;
          return starter ? `joined #${starter.id}` : "joined";
        }

        function sourceText(request) {
          const joined = request.exchanges.findLast((exchange) => exchange.isJoined);
          const source = request.source ?? "";
          if (joined) return hasCacheSource(request) ? `${source} · ${joinedText(joined)}` : joinedText(joined);
          if (store.flightsOf(request).length) return source ? `${source} · started` : "started";
          return source;
        }

        function splitURL(url) {
          const match = /^[a-z][a-z0-9+.-]*:\/\/([^/?#]*)(.*)$/is.exec(url);
          return match ? [match[1], match[2] || "/"] : ["", url];
        }

        function requestSegments(request) {
          const ends = [], segments = [];
          for (const exchange of request.exchanges) {
            // Exchanges that overlap, such as the ranges of a download, get a lane each.
            let lane = ends.findIndex((end) => end <= exchange.start);
            if (lane < 0) lane = ends.length;
            ends[lane] = exchange.end ?? Infinity;
            segments.push(...exchangeSegments(exchange).map((segment) => ({ ...segment, lane: lane % LANES })));
          }
          const lanes = Math.min(LANES, ends.length || 1);
          for (const segment of segments) Object.assign(segment, { top: 7 + segment.lane * BAR_HEIGHT / lanes, height: BAR_HEIGHT / lanes });
          return [...segments, ...request.spans];
        }

        function exchangeSegments(exchange) {
          const phases = store.phases(exchange);
          return phases.map((phase, index) => ({
            ...phase, isJoined: exchange.isJoined, isFailed: Boolean(exchange.error) && index === phases.length - 1,
            height: BAR_HEIGHT, note: exchange.isJoined ? joinedText(exchange) : null,
          }));
        }

        function drawBars(row, item) {
          const time = now(), { segments, bars } = row, { start, end } = item.exchange ?? item.request;
          placeBetween(row.extent, start, end ?? time);
          while (bars.length > segments.length) bars.pop().remove();
          segments.forEach((segment, index) => {
            if (!bars[index]) row.time.append(bars[index] = make("span", { class: "bar", "aria-hidden": "true" }));
            drawBar(bars[index], segment, time, row.drawn < 0);
          });
          if (row.drawn < 0) setAttribute(row.time, "aria-label", segments.map((segment) => segmentText(segment, time)).join(", "));
          row.drawn = axis.version;
        }

        function drawBar(bar, segment, time, isNew) {
          placeBetween(bar, segment.start, segment.end ?? time);
          if (!isNew) return;
          const isWait = KINDS[segment.kind]?.isWait;
          setAttribute(bar, "data-kind", segment.kind);
          bar.className = `bar${isWait ? " is-wait" : ""}${segment.isJoined ? " is-joined" : ""}${segment.isFailed ? " is-failed" : ""}`;
          bar.style.top = !isWait && segment.top != null ? `${segment.top}px` : "";
          bar.style.height = !isWait && segment.height ? `${segment.height}px` : "";
          setAttribute(bar, "title", segmentText(segment, time));
        }

        function placeBetween(element, start, end) {
          const left = axis.x(start);
          element.style.left = `${left.toFixed(1)}px`;
          element.style.width = `${(axis.x(end) - left).toFixed(1)}px`;
        }

        function segmentText(segment, time) {
          const text = `${kindLabel(segment.kind)} ${duration((segment.end ?? time) - segment.start)}${segment.end == null ? " so far" : ""}`;
          return segment.note ? `${text} (${safeLine(segment.note, 200)})` : text;
        }

        function kindLabel(kind) { return KINDS[kind]?.label ?? safeLine(kind, 40); }

        // MARK: Shared exchanges

        // Callers that share several exchanges, such as a redirect and its target, get one bracket.
        function findBrackets() {
          const indexes = new Map(items.flatMap((item, index) => (item.exchange ? [] : [[item.request.id, index]])));
          const found = new Map(), laneEnds = [];
          for (const flight of store.flights.values()) {
            const members = flight.callers.filter((caller) => indexes.has(caller.id));
            if (flight.callers.length < 2 || !members.length) continue;
            const key = members.map((caller) => caller.id).join();
            if (!found.has(key)) found.set(key, { flight, members: members.map((caller) => ({ caller, index: indexes.get(caller.id) })) });
          }
          const list = [...found.values()].sort((a, b) => a.members[0].index - b.members[0].index);
          for (const bracket of list) {
            const free = laneEnds.findIndex((end) => end < bracket.members[0].index);
            bracket.lane = free < 0 ? laneEnds.length : free;
            laneEnds[bracket.lane] = bracket.members.at(-1).index;
          }
          return list;
        }

        let drawnBrackets = [];

        function renderBrackets() {
          const key = [brackets, Math.floor(view.top / ROW_HEIGHT / 8), view.height];
          if (key.every((part, index) => part === drawnBrackets[index])) return;
          drawnBrackets = key;
          const first = Math.floor(view.top / ROW_HEIGHT) - OVERSCAN, last = first + view.height / ROW_HEIGHT + 2 * OVERSCAN;
          const inView = brackets.filter(({ members }) => members.at(-1).index >= first && members[0].index <= last);
          elements.brackets.replaceChildren(...inView.map((bracket) => bracketElement(bracket, first, last)));
        }

        function bracketElement({ flight, members, lane }, first, last) {
          const top = members[0].index, element = make("div", { class: "bracket", "data-flight": flight.id });
          element.style.top = `${(top + 0.5) * ROW_HEIGHT}px`;
          element.style.height = `${(members.at(-1).index - top) * ROW_HEIGHT}px`;
          element.style.left = `${8 + lane % LANES * 7}px`;
          for (const { caller, index } of members.filter((member) => member.index >= first && member.index <= last)) {
            const isStarter = caller === flight.starter, starter = flight.starter ? `#${flight.starter.id}` : "a forgotten request";
            const text = isStarter ? `#${caller.id} started exchange ${flight.id}` : `#${caller.id} joined exchange ${flight.id} of ${starter}`;
            const dot = make("i", { class: isStarter ? "is-starter" : null, title: text });
            dot.style.top = `${(index - top) * ROW_HEIGHT - 4}px`;
            element.append(dot);
          }
          return element;
        }

        // MARK: Explanation

        function link(request) { return make("button", { type: "button", class: "link", "data-goto": request.id }, `#${request.id}`); }

        function links(requests, limit = 12) {
          const parts = requests.slice(0, limit).flatMap((request, index) => {
            const isLast = index === requests.length - 1;
            return [index === 0 ? "" : isLast ? (requests.length > 2 ? ", and " : " and ") : ", ", link(request)];
          });
          if (requests.length > limit) parts.push(` and ${requests.length - limit} more`);
          return parts;
        }

        function note(span) { return span.note ? ` (${safeLine(span.note, 200)})` : ""; }

        function spanParts(request, span) {
          switch (span.kind) {
            case "hostQueue": return [`in the queue for a place at ${safeLine(request.host, 100)}`, note(span)];
            case "throttle": return ["held back by the throttle", note(span)];
            case "refresh": {
              const waiters = store.refreshWaiters(request, span);
              return ["refreshing the token", ...(waiters.length ? [", while ", ...links(waiters), " waited for it"] : []), note(span)];
            }
            case "refreshWait": {
              const [refresher] = store.refreshers(request, span);
              return refresher ? ["waiting for the token refresh that ", link(refresher), " started", note(span)]
                : ["waiting for a token refresh that another request started", note(span)];
            }
            case "retry": {
              const next = request.exchanges.find((exchange) => span.end != null && exchange.start >= span.end - 1);
              return [`waiting before ${next ? `attempt ${next.attempt}` : "the next attempt"}`, note(span)];
            }
            case "pause": return ["paused", note(span)];
            case "network": return ["waiting for a network", note(span)];
            case "decode": return ["validating and decoding the response", note(span)];
            default: return [kindLabel(span.kind), note(span)];
          }
        }

        function outcomeText(exchange) {
          if (exchange.status != null) return exchange.error ? `${exchange.status}, ${safeLine(exchange.error, 160)}` : `${exchange.status}`;
          return exchange.error ? safeLine(exchange.error, 160) : exchange.end == null ? "no response yet" : "no response";
        }

        function exchangeParts(request, group) {
          if (group.length > 1) {
            const outcomes = group.slice(0, 8).map(outcomeText).join("; ");
            return [`in ${group.length} exchanges that overlapped (${outcomes}${group.length > 8 ? "; …" : ""})`];
          }
          const [exchange] = group, starter = store.flights.get(exchange.id)?.starter;
          const name = `${safeLine(exchange.method, 30)} ${safeLine(splitURL(exchange.url)[1], 80)}`;
          const attempt = request.attempts > 1 ? `, attempt ${exchange.attempt}` : "";
          if (!exchange.isJoined) return [`in ${name} (${outcomeText(exchange)}${attempt})`];
          return [`sharing ${name} (${outcomeText(exchange)}${attempt}), which `, ...(starter ? [link(starter)] : ["another request"]), " started"];
        }

        // Returns the exchanges in groups: those of a group overlap.
        function exchangeGroups(request) {
          const groups = [];
          for (const exchange of [...request.exchanges].sort((a, b) => a.start - b.start)) {
            const group = groups.at(-1);
            if (group && group.end > exchange.start) {
              group.list.push(exchange);
              group.end = Math.max(group.end, exchange.end ?? Infinity);
            } else {
              groups.push({ list: [exchange], start: exchange.start, end: exchange.end ?? Infinity });
            }
          }
          return groups;
        }

        function slowestPhase(exchange, end) {
          const lengths = store.phases(exchange).map((phase) => ({ kind: phase.kind, ms: (phase.end ?? end) - phase.start }));
          return lengths.sort((a, b) => b.ms - a.ms)[0]?.kind ?? "waiting";
        }

        function stepsOf(request, time) {
          const end = request.end ?? time, interruptions = request.spans.filter((span) => span.kind === "pause" || span.kind === "network");
          const steps = request.spans.map((span) => {
            const spanEnd = span.end ?? end;
            return { kind: span.kind, start: span.start, end: spanEnd, ms: spanEnd - span.start, parts: () => spanParts(request, span) };
          });
          for (const group of exchangeGroups(request)) {
            const groupEnd = Math.min(group.end, end), range = { start: group.start, end: groupEnd };
            const interrupted = interruptions.reduce((sum, span) => sum + Math.max(0, overlap({ ...span, end: span.end ?? end }, range)), 0);
            steps.push({
              kind: slowestPhase(group.list[0], end), start: group.start, end: groupEnd, ms: Math.max(0, groupEnd - group.start - interrupted),
              parts: () => exchangeParts(request, group.list), phases: group.list.length === 1 ? store.phases(group.list[0]) : [],
            });
          }
          return steps.sort((a, b) => a.start - b.start);
        }

        function unaccounted(request, steps, end) {
          const spans = steps.map((step) => ({ from: Math.max(step.start, request.start), to: Math.min(step.end, end) }));
          const covered = mergeSpans(spans.sort((a, b) => a.from - b.from), 0).reduce((sum, span) => sum + Math.max(0, span.to - span.from), 0);
          return Math.max(0, end - request.start - covered);
        }

        function opening(request, total) {
          if (isRunning(request)) return `#${request.id} has taken ${duration(total)} so far`;
          const verbs = { failed: "failed after", dropped: "was dropped after" };
          return `#${request.id} ${verbs[request.state] ?? "took"} ${duration(total)}`;
        }

        function whereTimeWent(request, steps, end) {
          const total = end - request.start, rest = unaccounted(request, steps, end);
          const all = rest > Math.max(1, total * 0.01) ? [...steps, { ms: rest, parts: () => ["outside of these steps"] }] : steps;
          const relevant = [...all].sort((a, b) => b.ms - a.ms).filter((step) => step.ms >= total * 0.01).slice(0, 5);
          const others = all.filter((step) => !relevant.includes(step)), othersTime = others.reduce((sum, step) => sum + step.ms, 0);
          const phrases = relevant.map((step) => [make("b", {}, duration(step.ms)), " ", ...step.parts()]);
          if (phrases.length && othersTime >= total * 0.01) phrases.push([`${duration(othersTime)} in ${plural(others.length, "shorter step")}`]);
          const sentence = [opening(request, total), phrases.length ? ": " : ""];
          phrases.forEach((phrase, index) => {
            const isLast = index === phrases.length - 1;
            sentence.push(index === 0 ? "" : isLast ? (phrases.length > 2 ? "; and " : " and ") : "; ", ...phrase);
          });
          return make("p", { class: "why" }, ...sentence, ".");
        }

        const SOURCE_TEXTS = {
          cache: "The response came from the cache.",
          stale: "The response is a stale one from the cache.",
          revalidated: "The server confirmed with a 304 that the response in the cache is still valid.",
        };

        function facts(request) {
          const list = [];
          if (SOURCE_TEXTS[request.source]) {
            list.push([SOURCE_TEXTS[request.source], request.exchanges.length || store.archive ? "" : " Nothing was sent."]);
          }
          const flights = store.flightsOf(request);
          if (flights.length) list.push(sharingFact(flights));
          else if (request.exchanges.some((exchange) => exchange.isJoined)) {
            list.push(["It joined an exchange of a request that is no longer in the list."]);
          }
          if (request.exchanges.length > 1) {
            const prefix = (exchange) => (request.attempts > 1 ? `attempt ${exchange.attempt}: ` : "");
            const ends = request.exchanges.slice(0, 12).map((exchange) => `${prefix(exchange)}${outcomeText(exchange)}`);
            list.push([`${plural(request.attempts, "attempt")}, ${plural(request.exchanges.length, "exchange")} (${ends.join("; ")}).`]);
          }
          return list.map((parts) => make("p", { class: "why" }, ...parts));
        }

        function sharingFact(flights) {
          const callers = [...new Set(flights.flatMap((flight) => flight.callers))].sort((a, b) => a.id - b.id);
          const starters = [...new Set(flights.map((flight) => flight.starter).filter(Boolean))];
          const joined = callers.filter((caller) => !starters.includes(caller));
          const started = starters.length ? [...links(starters), " started ", flights.length > 1 ? "them" : "it", "; "] : [];
          const sent = `${callers.length} requests caused only ${plural(flights.length, "exchange")}: `;
          return [sent, ...started, ...links(joined), " joined."];
        }

        function stepElement(step, request) {
          const phases = step.phases?.length > 1
            ? make("span", { class: "note" }, ` — ${step.phases.map((phase) => segmentText(phase, step.end)).join(", ")}`) : null;
          const swatch = make("i", { class: `swatch${KINDS[step.kind]?.isWait ? " is-wait" : ""}`, "data-kind": step.kind, "aria-hidden": "true" });
          const offset = `+${duration(Math.max(0, step.start - request.start))}`;
          return make("li", {}, swatch, make("b", {}, duration(step.ms)), make("span", {}, ...step.parts(), phases),
            make("span", { class: "at", title: "Time since the start of the request" }, offset));
        }

        function explanation(request) {
          const end = request.end ?? Math.max(now(), request.start), steps = stepsOf(request, end), limit = 60;
          const list = make("ol", { class: "steps", "aria-label": "Steps in the order of time" });
          list.append(...steps.slice(0, limit).map((step) => stepElement(step, request)));
          const more = steps.length > limit ? make("p", { class: "note" }, `${steps.length - limit} more steps are not shown.`) : null;
          return [whereTimeWent(request, steps, end), ...facts(request), list, more];
        }

        // MARK: Details

        let details = null, detailsTimer = 0, detailsStamp = "";
        const unfolded = new Map([["response", true], ["request", false]]);

        function openDetails(id, exchangeIndex) {
          const request = store.requests.get(id);
          if (!request) return;
          if (selected !== id) {
            details = null;
            detailsStamp = "";
          }
          selected = id;
          setFollowing(false);
          elements.details.hidden = elements.handle.hidden = false;
          if (exchangeIndex != null) unfolded.set("exchanges", true).set(`exchange ${exchangeIndex}`, true);
          renderDetails();
          refreshDetails(exchangeIndex);
          invalidate();
        }

        function closeDetails() {
          if (selected == null) return;
          selected = details = null;
          elements.details.hidden = elements.handle.hidden = true;
          invalidate();
          focusRow(activeKey);
        }

        // Loads the details again if the summary has changed in a way that changes them.
        function refreshDetails(exchangeIndex) {
          const request = store.requests.get(selected);
          if (!request) return renderForgotten();
          const stamp = JSON.stringify([request.id, request.state, request.exchanges.map((exchange) => [exchange.head, exchange.end])]);
          renderWhy();
          if (stamp === detailsStamp) return scrollToExchange(exchangeIndex);
          detailsStamp = stamp;
          clearTimeout(detailsTimer);
          detailsTimer = setTimeout(() => loadDetails(request.id, exchangeIndex), details ? 250 : 0);
        }

        async function loadDetails(id, exchangeIndex) {
          let loaded = null;
          if (store.archive) {
            loaded = store.archive.get(id);
          } else {
            try {
              const response = await fetch(address(`/requests/${id}`));
              if (response.status === 404) throw new Error("The server no longer keeps this request.");
              if (!response.ok) throw new Error(`The server responded with ${response.status}.`);
              loaded = await response.json();
            } catch (error) {
              return renderDetailsError(id, error);
            }
          }
          if (selected !== id) return;
          details = loaded;
          renderDetails();
          scrollToExchange(exchangeIndex);
        }

        function renderDetailsError(id, error) {
          if (selected !== id) return;
          detailsStamp = "";
          elements.messages.replaceChildren(make("p", { class: "problem" }, `The details cannot be loaded. ${safeLine(error.message)}`));
        }

        function scrollToExchange(index) {
          if (index != null) elements.messages.querySelector(`[data-fold="exchange ${index}"]`)?.scrollIntoView({ block: "start" });
        }

        function renderForgotten() {
          if (elements.messages.querySelector("[data-forgotten]")) return;
          elements.messages.prepend(make("p", { class: "warning", "data-forgotten": true }, "This request is no longer in the list."));
        }

        function renderDetails() {
          const request = store.requests.get(selected);
          if (!request) return;
          const outcome = request.status ?? request.state;
          setText(elements.title, `#${request.id}  ${safeLine(request.method, 30)} ${safeLine(request.url, 600)} — ${outcome}`);
          setAttribute(elements.title, "title", safeLine(request.url));
          renderWhy();
          if (!details) return elements.messages.replaceChildren(make("p", { class: "note" }, "Loading…"));
          const top = elements.messages.scrollTop, hadFocus = elements.messages.contains(document.activeElement);
          elements.messages.replaceChildren(
            ...[details.response && messageFold("response", "Response", details.response),
              messageFold("request", "Request", details.request), exchangesFold(request)].filter(Boolean));
          elements.messages.scrollTop = top;
          if (hadFocus) elements.title.focus();
        }

        let explainedAt = 0;

        function updateRunningDetails() {
          const request = store.requests.get(selected);
          if (!request || !isRunning(request) || performance.now() < explainedAt + 1_000) return;
          explainedAt = performance.now();
          renderWhy();
        }

        function renderWhy() {
          const request = store.requests.get(selected);
          // Replacing a link that has the focus would lose the focus, and replacing text would lose the selection.
          const isSelecting = !getSelection().isCollapsed && elements.why.contains(getSelection().anchorNode);
          if (!request || isSelecting || elements.why.contains(document.activeElement)) return;
          const why = [make("h3", {}, "Where the time went"), ...explanation(request)];
          const error = details?.error ?? request.error;
          if (error) why.push(make("h3", {}, "Error"), make("pre", { class: "problem" }, safeText(error)));
          if (details?.warnings?.length) {
            const warnings = details.warnings.map((text) => make("li", { class: "warning" }, safeLine(text)));
            why.push(make("h3", {}, "Warnings"), make("ul", {}, ...warnings));
          }
          const waits = Object.entries(details?.waits ?? {}).map(([kind, ms]) => [kindLabel(kind), duration(ms)]);
          if (waits.length) why.push(make("h3", {}, "Waits, in all"), pairs(waits));
          const tags = Object.entries(request.tags ?? {});
          if (tags.length) why.push(make("h3", {}, "Tags"), pairs(tags));
          if (details?.curl) why.push(...curlElements(details.curl));
          elements.why.replaceChildren(...why.filter(Boolean));
        }

        function curlElements(curl) {
          const copy = make("button", { type: "button", "data-action": "copy", "aria-label": "Copy the curl command" }, "Copy");
          const pre = make("pre", { "data-part": "curl" }, safeText(curl));
          copy.addEventListener("click", () => copyText(curl, pre));
          return [make("h3", {}, "curl", copy), pre];
        }

        async function copyText(text, shownIn) {
          try {
            await navigator.clipboard.writeText(text);
            announce("Copied.");
          } catch {
            // The page may be served from an address that the browser does not trust with the clipboard.
            getSelection().selectAllChildren(shownIn);
            announce("Selected. Press the copy key.");
          }
        }

        function pairs(entries) {
          return make("table", { class: "pairs" }, make("tbody", {}, ...entries.map(([name, value]) => make("tr", {},
            make("th", { scope: "row" }, safeLine(name, 400)), make("td", {}, safeLine(value, 8_000))))));
        }

        function fold(key, summary, content) {
          const inner = make("div"), attributes = { class: "fold", "data-fold": key, open: unfolded.get(key) };
          const element = make("details", attributes, make("summary", {}, ...summary), inner);
          const fill = () => { if (element.open && !inner.firstChild) inner.append(...content().filter(Boolean)); };
          fill();
          element.addEventListener("toggle", () => { unfolded.set(key, element.open); fill(); });
          return element;
        }

        function messageFold(key, title, message) {
          const first = message.status != null ? `${message.status}` : safeLine(message.method, 30);
          const size = message.body ? `, ${byteCount(message.body.size)}` : "";
          const summary = [make("b", {}, title), ` ${first} `, make("small", {}, `${plural(message.headers.length, "header field")}${size}`)];
          return fold(key, summary, () => [
            make("p", { class: "note url" }, safeLine(message.url, 20_000)), pairs(message.headers.map(({ name, value }) => [name, value])),
            ...(message.body ? bodyElements(message.body) : []),
          ]);
        }

        function exchangesFold(request) {
          const list = details.exchanges ?? [];
          if (!list.length) return null;
          return fold("exchanges", [make("b", {}, "Exchanges"), ` ${list.length}`], () => list.map((exchange, index) => {
            const summary = request.exchanges[index], joined = summary?.isJoined ? `, ${joinedText(summary)}` : "";
            const line = `${safeLine(exchange.request.method, 30)} ${safeLine(splitURL(exchange.request.url)[1], 200)}`;
            const outcome = summary ? ` — attempt ${summary.attempt}, ${outcomeText(summary)}${joined}` : "";
            return fold(`exchange ${index}`, [make("b", {}, line), make("small", {}, outcome)], () => exchangeElements(exchange, summary, index));
          }));
        }

        function exchangeElements(exchange, summary, index) {
          const connection = Object.entries(summary?.connection ?? {}).filter(([, value]) => value != null)
            .map(([name, value]) => [CONNECTION_LABELS[name] ?? name, typeof value === "number" && name !== "resends" ? duration(value) : value]);
          return [
            exchange.error ? make("pre", { class: "problem" }, safeText(exchange.error)) : null,
            exchange.response ? messageFold(`exchange ${index} response`, "Response", exchange.response) : null,
            messageFold(`exchange ${index} request`, "Request", exchange.request),
            ...(connection.length ? [make("h3", {}, "Connection"), pairs(connection)] : []),
            ...(exchange.curl ? curlElements(exchange.curl) : []),
          ];
        }

        const CONNECTION_LABELS = {
          nameLookup: "DNS", connect: "Connect", tls: "TLS", firstByte: "First byte after", isReused: "Reused", httpVersion: "Version",
          remoteAddress: "Address", resends: "Resends",
        };

        // MARK: Bodies

        function bodyElements(body) {
          const type = safeLine(body.mimeType ?? "", 100), size = byteCount(body.size);
          const heading = make("div", { class: "body-tools" }, make("span", {}, type ? `Body: ${type}, ${size}` : `Body: ${size}`));
          if (body.omitted) return [heading, make("p", { class: "note" }, `Not kept: ${safeLine(body.omitted, 300)}`)];
          if (body.text == null) return [heading, make("p", { class: "note" }, body.size ? `binary, ${plural(body.size, "byte")}` : "empty")];
          if (body.isBase64) return [heading, imageElement(body) ?? make("p", { class: "note" }, `binary, ${plural(body.size, "byte")}`)];
          const json = parsedJSON(body);
          if (!json) return [heading, textElement(body.text)];
          const shapes = [() => make("div", { class: "tree" }, treeNode(null, json.value, true)), () => textElement(body.text)];
          const toggle = make("button", { type: "button", "aria-pressed": "false", "data-action": "as-text" }, "As text");
          let content = shapes[0]();
          toggle.addEventListener("click", () => {
            const isText = toggle.getAttribute("aria-pressed") === "false", next = shapes[Number(isText)]();
            toggle.setAttribute("aria-pressed", String(isText));
            content.replaceWith(next);
            content = next;
          });
          heading.append(toggle);
          return [heading, content];
        }

        function imageElement(body) {
          const type = String(body.mimeType ?? "").split(";")[0].trim().toLowerCase();
          if (!IMAGE_TYPES.has(type) || !/^[A-Za-z0-9+/=\s]*$/.test(body.text)) return null;
          const alt = `The body as an image, ${byteCount(body.size)}`;
          return make("img", { class: "body-image", src: `data:${type};base64,${body.text}`, alt });
        }

        function textElement(text) {
          const pre = make("pre", { "data-part": "body", tabindex: 0 }, safeText(text.slice(0, BODY_LIMIT)));
          if (text.length <= BODY_LIMIT) return pre;
          const more = make("button", { type: "button" }, `Show all ${text.length.toLocaleString("en-US")} characters`);
          more.addEventListener("click", () => { setText(pre, safeText(text)); more.remove(); });
          return make("div", {}, pre, more);
        }

        function parsedJSON(body) {
          const isJSON = /[/+]json\b/i.test(body.mimeType ?? "") || /^\s*[[{]/.test(body.text);
          if (!isJSON) return null;
          try {
            const value = JSON.parse(body.text);
            return value !== null && typeof value === "object" ? { value } : null;
          } catch {
            return null;
          }
        }

        function treeNode(key, value, isOpen) {
          const label = key == null ? [] : [make("span", { class: "key" }, safeLine(key, 300)), ": "];
          if (value === null || typeof value !== "object") {
            const text = typeof value === "string" ? JSON.stringify(safeText(value.slice(0, 10_000))) : String(value);
            return make("div", {}, ...label, make("span", { class: typeof value === "string" ? "string" : "other" }, text));
          }
          const entries = Object.entries(value), count = Array.isArray(value) ? `[${entries.length}]` : `{${entries.length}}`;
          const node = make("details", { open: isOpen }, make("summary", {}, ...label, count)), inner = make("div");
          node.append(inner);
          // Filling a node when it opens keeps a large or deep document cheap.
          const fill = () => { if (node.open && !inner.firstChild) appendEntries(inner, entries, 0, isOpen && entries.length <= 20); };
          fill();
          node.addEventListener("toggle", fill);
          return node;
        }

        function appendEntries(inner, entries, from, isShallow) {
          const size = 200;
          inner.append(...entries.slice(from, from + size).map(([key, value]) => treeNode(key, value, isShallow && isSmall(value))));
          if (entries.length <= from + size) return;
          const more = make("button", { type: "button" }, `Show more of ${entries.length.toLocaleString("en-US")}`);
          more.addEventListener("click", () => { more.remove(); appendEntries(inner, entries, from + size, false); });
          inner.append(more);
        }

        function isSmall(value) {
          return value !== null && typeof value === "object" && Object.values(value).every((child) => child === null || typeof child !== "object");
        }

        // MARK: Server

        const token = new URLSearchParams(location.search).get("token") ?? "";
        function address(path) { return `${path}?token=${encodeURIComponent(token)}`; }

        function connect() {
          const events = new EventSource(address("/events"));
          let isFirst = true;
          events.onopen = () => {
            isFirst = true;
            setConnectionState("live");
          };
          events.onmessage = (event) => {
            receive(JSON.parse(event.data), isFirst);
            isFirst = false;
          };
          events.onerror = () => {
            setConnectionState("lost");
            // The browser does not reconnect after an HTTP error.
            if (events.readyState === EventSource.CLOSED) setTimeout(connect, 2_000);
          };
        }

        function receive(batch, isFirst) {
          clock = batch.now - performance.now();
          // The first batch of a connection holds all requests. Others were forgotten while the connection was lost.
          if (isFirst) batch.kept ??= (batch.requests ?? []).map((request) => request.id);
          if (isPaused) {
            waiting.push(batch);
            if (waiting.length > 200) waiting = [mergedBatch(waiting)];
            return renderConnection();
          }
          applyToLive([batch]);
        }

        function applyToLive(batches) {
          for (const batch of batches) live.apply(batch);
          if (store === live) invalidate("data");
        }

        // A long pause would otherwise keep every version of every request.
        function mergedBatch(batches) {
          const latest = new Store();
          for (const batch of batches) latest.apply(batch);
          const updates = batches.reduce((sum, batch) => sum + updateCount(batch), 0);
          return { ...batches.at(-1), kept: batches.findLast((batch) => batch.kept)?.kept, requests: latest.inOrder(), updates };
        }

        function updateCount(batch) { return batch.updates ?? batch.requests?.length ?? 0; }

        function setConnectionState(state) {
          connectionState = state;
          renderConnection();
        }

        function renderConnection() {
          const state = store !== live ? "file" : connectionState !== "live" ? connectionState : isPaused ? "paused" : "live";
          const updates = waiting.reduce((sum, batch) => sum + updateCount(batch), 0);
          const texts = {
            live: "live", paused: `paused — ${plural(updates, "update")} waiting`, lost: "connection lost — reconnecting", file: "file",
            connecting: "connecting",
          };
          setAttribute(elements.connection, "data-state", state);
          setText(elements.connection, texts[state]);
        }

        function togglePause() {
          pausedAt = performance.now() + clock;
          isPaused = !isPaused;
          if (!isPaused) {
            const batches = waiting;
            waiting = [];
            applyToLive(batches);
          }
          setAttribute(action("pause"), "aria-pressed", String(isPaused));
          setText(action("pause"), isPaused ? "Resume" : "Pause");
          renderConnection();
          invalidate();
        }

        async function post(path, body) {
          const response = await fetch(address(path), { method: "POST", headers: { "Content-Type": "application/json" }, body });
          if (!response.ok) throw new Error(`The server responded with ${response.status}.`);
          return response;
        }

        async function clear() {
          try {
            await post("/clear");
            if (isPaused) togglePause();
          } catch (error) {
            announce(`The list cannot be cleared. ${error.message}`, true);
          }
        }

        async function exportArchive() {
          try {
            const response = await post("/har", JSON.stringify(shown.map((request) => request.id)));
            save(await response.blob(), "ness.har");
          } catch (error) {
            announce(`The requests cannot be exported. ${error.message}`, true);
          }
        }

        function save(blob, name) {
          const url = URL.createObjectURL(blob);
          make("a", { href: url, download: name }).click();
          setTimeout(() => URL.revokeObjectURL(url), 10_000);
        }

        // MARK: HAR

        async function importArchive(file) {
          try {
            const archive = JSON.parse(await file.text());
            if (!Array.isArray(archive?.log?.entries)) throw new Error("It has no log.entries.");
            showStore(storeOf(archive.log.entries));
            setText(elements.banner.firstElementChild, "");
            elements.banner.firstElementChild.append("From file ", make("bdi", {}, safeLine(file.name, 200)), " —");
          } catch (error) {
            announce(`This is not a HAR file. ${error.message}`, true);
          }
        }

        function storeOf(entries) {
          const result = new Store(), times = entries.map((entry) => Date.parse(entry?.startedDateTime));
          const first = times.reduce((least, time) => (time < least ? time : least), Infinity);
          result.archive = new Map();
          const order = entries.map((entry, index) => [times[index] - first || 0, entry]).sort((a, b) => a[0] - b[0]);
          const requests = order.map(([start, entry], index) => archivedRequest(index + 1, start, entry ?? {}));
          order.forEach(([, entry], index) => result.archive.set(index + 1, archivedDetails(requests[index], entry ?? {})));
          const sum = (value) => requests.reduce((total, request) => total + value(request), 0);
          result.apply({
            requests, totals: {
              requests: requests.length, exchanges: sum((request) => request.exchanges.length), failed: sum((request) => Number(isBad(request))),
              bytesReceived: sum((request) => request.bytesReceived), bytesSent: sum((request) => request.bytesSent),
            },
          });
          return result;
        }

        function amount(value) { return typeof value === "number" && value > 0 && Number.isFinite(value) ? value : 0; }

        function archivedRequest(id, start, entry) {
          const url = String(entry.request?.url ?? ""), method = String(entry.request?.method ?? ""), [host, path] = splitURL(url);
          const time = amount(entry.time), timings = entry.timings ?? {}, blocked = amount(timings.blocked), tls = amount(timings.ssl);
          // In the format, the time to connect includes TLS.
          const connect = Math.max(0, amount(timings.connect) - tls), dns = amount(timings.dns);
          const head = start + blocked + dns + connect + tls + amount(timings.send) + amount(timings.wait);
          const end = Math.max(start + time, head + amount(timings.receive)), status = amount(entry.response?.status) || null;
          const error = entry.response?._error ?? (status ? null : "no response");
          const exchange = {
            id, isJoined: false, attempt: 1, method, url, start: start + blocked, head, end, status, error: error && String(error),
            connection: { nameLookup: dns, connect, tls, isReused: !(dns + connect + tls), remoteAddress: entry.serverIPAddress ?? null },
          };
          return {
            id, method, url, host, path, tags: {}, start, end, state: status ? "succeeded" : "failed", status, error: exchange.error,
            source: !status ? null : entry.time === 0 ? "cache" : "network", attempts: 1, bytesSent: amount(entry.request?.bodySize),
            bytesReceived: amount(entry.response?.bodySize) || amount(entry.response?.content?.size),
            spans: blocked ? [{ kind: "hostQueue", start, end: start + blocked, note: "blocked" }] : [],
            exchanges: entry.time === 0 ? [] : [exchange],
          };
        }

        function archivedDetails(summary, entry) {
          const request = archivedMessage(summary, entry.request ?? {}, entry.request?.postData);
          const response = archivedMessage(summary, entry.response ?? {}, entry.response?.content);
          return {
            request: { ...request, method: summary.method }, response: summary.status ? { ...response, status: summary.status } : null,
            error: summary.error, warnings: [], waits: {}, exchanges: [],
          };
        }

        function archivedMessage(summary, message, content) {
          const headers = Array.isArray(message.headers) ? message.headers : [];
          const text = typeof content?.text === "string" ? content.text : null, size = amount(content?.size) || text?.length || 0;
          const body = { mimeType: String(content?.mimeType ?? ""), size, text, isBase64: content?.encoding === "base64" };
          return {
            url: summary.url, headers: headers.map((field) => ({ name: String(field?.name ?? ""), value: String(field?.value ?? "") })),
            body: size ? body : null,
          };
        }

        function showStore(next) {
          store = next;
          selected = details = null;
          expanded.clear();
          for (const row of views.values()) row.element.remove();
          views.clear();
          elements.details.hidden = elements.handle.hidden = true;
          elements.banner.hidden = next === live;
          for (const name of ["pause", "clear", "export", "follow"]) action(name).disabled = next !== live;
          axis.zoom = null;
          elements.list.scrollTop = view.top = 0;
          renderConnection();
          invalidate("data");
        }

        // MARK: Announcements

        let announcedAt = 0, announcement = 0;

        function announceCount() {
          clearTimeout(announcement);
          announcement = setTimeout(() => {
            announcedAt = performance.now();
            setText(elements.status, `${plural(shown.length, "request")}, ${shown.filter(isRunning).length} running`);
          }, Math.max(500, announcedAt + 5_000 - performance.now()));
        }

        function announce(text, isProblem = false) {
          clearTimeout(announcement);
          setText(elements.status, text);
          if (!isProblem) return;
          const notice = make("span", { class: "problem", "data-notice": true }, safeLine(text, 300));
          find("[data-notice]")?.remove();
          find(".tools .space").append(notice);
          setTimeout(() => notice.remove(), 8_000);
        }

        // MARK: Keyboard and pointer

        function focusRow(key) {
          const index = items.findIndex((item) => item.key === key);
          if (index < 0) return;
          activeKey = key;
          const top = index * ROW_HEIGHT, bottom = top + 2 * ROW_HEIGHT - view.height;
          if (top < view.top || bottom > view.top) {
            if (top < view.top) setFollowing(false);
            elements.list.scrollTop = view.setTop = view.top = Math.max(0, top < view.top ? top : bottom);
          }
          renderRows();
          views.get(key)?.element.focus({ preventScroll: true });
        }

        function goTo(id) {
          if (!shown.some((request) => request.id === id)) {
            elements.search.value = "";
            elements.filter.value = "all";
            rebuildItems();
          }
          openDetails(id);
          measure();
          focusRow(String(id));
          invalidate("data");
        }

        function toggleRow(id, isOpen = !expanded.has(id)) {
          if (isOpen) expanded.add(id); else expanded.delete(id);
          invalidate("data");
        }

        function moveBy(steps) {
          const index = items.findIndex((item) => item.key === activeKey);
          focusRow(items[Math.min(items.length - 1, Math.max(0, index + steps))]?.key);
        }

        function goRight({ request, exchange }) {
          if (exchange || !request.exchanges.length) return;
          if (expanded.has(request.id)) moveBy(1); else toggleRow(request.id, true);
        }

        function goLeft({ request, exchange }) {
          if (exchange) focusRow(String(request.id)); else if (expanded.has(request.id)) toggleRow(request.id, false);
        }

        function activate(item) {
          openDetails(item.request.id, item.exchange ? item.position : null);
          measure();
          focusRow(item.key);
        }

        const ROW_KEYS = {
          ArrowDown: () => moveBy(1), ArrowUp: () => moveBy(-1), Home: () => moveBy(-Infinity), End: () => moveBy(Infinity),
          PageDown: () => moveBy(Math.floor(view.height / ROW_HEIGHT) - 2), PageUp: () => moveBy(2 - Math.floor(view.height / ROW_HEIGHT)),
          ArrowRight: goRight, ArrowLeft: goLeft, Enter: activate, " ": activate,
        };
        const PAGE_KEYS = {
          "/": () => elements.search.focus(), "+": () => zoom(1.6), "=": () => zoom(1.6), "-": () => zoom(1 / 1.6), "0": () => zoom(null),
          Escape: closeDetails,
        };
        const ACTIONS = {
          pause: togglePause, clear, export: exportArchive, import: () => elements.file.click(), close: closeDetails, back: () => showStore(live),
          "zoom-in": () => zoom(1.6), "zoom-out": () => zoom(1 / 1.6), fit: () => zoom(null), follow: () => setFollowing(!isFollowing),
        };

        function handleKey(event) {
          if (event.ctrlKey || event.metaKey || event.altKey) return;
          const row = event.target.closest?.(".row"), isField = event.target.matches?.("input, select, textarea");
          const handler = row && ROW_KEYS[event.key] || (!isField || event.key === "Escape") && PAGE_KEYS[event.key];
          if (!handler) return;
          event.preventDefault();
          if (isField && event.key === "Escape" && event.target.value && event.target === elements.search) {
            elements.search.value = "";
            return invalidate("data");
          }
          handler(row ? itemAt(row.dataset.key) : null);
        }

        function handleClick(event) {
          const target = event.target.closest("[data-goto], [data-action], .row");
          if (!target) return;
          if (target.dataset.goto) return goTo(Number(target.dataset.goto));
          if (target.dataset.action) return ACTIONS[target.dataset.action]?.();
          const item = itemAt(target.dataset.key);
          if (!item) return;
          if (event.target.closest(".disclosure") && !item.exchange && item.request.exchanges.length) {
            toggleRow(item.request.id);
            return focusRow(item.key);
          }
          // A click at the end of a selection is meant for the selection.
          if (getSelection().isCollapsed) activate(item);
        }

        function handleScroll() {
          const { scrollTop, scrollLeft } = elements.list;
          if (isFollowing && scrollTop < view.setTop - ROW_HEIGHT && scrollTop < view.top) setFollowing(false);
          view.top = scrollTop;
          view.left = scrollLeft;
          invalidate();
        }

        function handleWheel(event) {
          if (!event.ctrlKey) return;
          event.preventDefault();
          zoom(event.deltaY < 0 ? 1.25 : 0.8);
        }

        function measure() {
          view.width = elements.list.clientWidth;
          view.height = elements.list.clientHeight;
          view.listWidth = elements.head.firstElementChild.offsetWidth;
        }

        function setDetailsHeight(height) {
          elements.details.style.flexBasis = `${Math.max(120, Math.min(innerHeight - 240, height))}px`;
        }

        function dragHandle(event) {
          if (event.type === "pointerdown") return elements.handle.setPointerCapture(event.pointerId);
          if (!elements.handle.hasPointerCapture(event.pointerId)) return;
          setDetailsHeight(elements.details.getBoundingClientRect().bottom - event.clientY);
        }

        function keyOnHandle(event) {
          const change = { ArrowUp: 24, ArrowDown: -24 }[event.key];
          if (change) setDetailsHeight(elements.details.offsetHeight + change);
        }

        function start() {
          elements.head.firstElementChild.append(...Object.entries(COLUMNS).map(([name, label]) =>
            make("span", { role: "columnheader", "data-column": name }, label || make("span", { class: "unseen" }, "Shared exchange"))));
          elements.totals.append(...Object.keys(TOTALS).map((name) => make("div", {}, make("dt"), make("dd", { "data-total": name }, "0"))));
          elements.legend.append(...Object.entries(KINDS).map(([kind, { label, isWait }]) => make("li", {},
            make("i", { class: `swatch${isWait ? " is-wait" : ""}`, "data-kind": kind, "aria-hidden": "true" }), label)));
          document.addEventListener("click", handleClick);
          document.addEventListener("keydown", handleKey);
          document.addEventListener("visibilitychange", () => invalidate());
          elements.search.addEventListener("input", () => invalidate("data"));
          elements.filter.addEventListener("input", () => invalidate("data"));
          elements.list.addEventListener("scroll", handleScroll, { passive: true });
          elements.list.addEventListener("wheel", handleWheel, { passive: false });
          elements.file.addEventListener("change", () => {
            if (elements.file.files[0]) importArchive(elements.file.files[0]);
            elements.file.value = "";
          });
          for (const type of ["pointerdown", "pointermove"]) elements.handle.addEventListener(type, dragHandle);
          elements.handle.addEventListener("keydown", keyOnHandle);
          new ResizeObserver(() => { measure(); invalidate("axis"); }).observe(elements.list);
          measure();
          invalidate("data");
          connect();
        }

        start();
        """#
}
