import Metrics
import Synchronization

/// Keeps the metrics of a process, and writes them in Prometheus's text format.
///
/// Only what this example needs: counters, gauges, and summaries without quantiles. The package swift-prometheus also has histograms.
public final class PrometheusMetrics: MetricsFactory {
    private let all = Mutex<[PrometheusSeries.Key: PrometheusSeries]>([:])

    /// Makes an empty store.
    public init() {}

    private func series(_ kind: PrometheusSeries.Kind, _ label: String, _ dimensions: [(String, String)], unit: String = "")
        -> PrometheusSeries
    {
        let key = PrometheusSeries.Key(kind, label, dimensions, unit: unit)
        return all.withLock { all in
            if let known = all[key] { return known }
            let new = PrometheusSeries(key)
            all[key] = new
            return new
        }
    }

    private func remove(_ handler: AnyObject) {
        guard let series = handler as? PrometheusSeries else { return }
        all.withLock { $0[series.key] = nil }
    }

    /// Returns the counter with a name and dimensions.
    public func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        series(.counter, label, dimensions, unit: "_total")
    }

    /// Returns the gauge with a name and dimensions.
    public func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler { series(.gauge, label, dimensions) }

    /// Returns the summary with a name and dimensions; a gauge, if the values are not to be added up.
    public func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        series(aggregate ? .summary : .gauge, label, dimensions)
    }

    /// Returns the summary of durations in seconds with a name and dimensions.
    public func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        series(.summary, label, dimensions, unit: "_seconds")
    }

    /// Forgets the counter.
    public func destroyCounter(_ handler: any CounterHandler) { remove(handler) }

    /// Forgets the gauge.
    public func destroyMeter(_ handler: any MeterHandler) { remove(handler) }

    /// Forgets the summary.
    public func destroyRecorder(_ handler: any RecorderHandler) { remove(handler) }

    /// Forgets the summary.
    public func destroyTimer(_ handler: any TimerHandler) { remove(handler) }

    /// The metrics, sorted by their names.
    public var text: String {
        let series = all.withLock { Array($0.values) }.sorted { ($0.key.name, $0.key.labels) < ($1.key.name, $1.key.labels) }
        var lines: [String] = [], name = ""
        for series in series {
            if series.key.name != name { lines.append("# TYPE \(series.key.name) \(series.key.kind.rawValue)") }
            name = series.key.name
            lines += series.lines
        }
        return lines.map { $0 + "\n" }.joined()
    }
}
