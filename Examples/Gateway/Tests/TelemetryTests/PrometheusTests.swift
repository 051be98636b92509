import Metrics
import Telemetry
import Testing

@Suite struct PrometheusTests {
    @Test("each kind of metric becomes its lines, sorted, with one TYPE for a name")
    func text() {
        let metrics = PrometheusMetrics()
        for _ in 1...2 { Counter(label: "a.count", dimensions: [("b.c", "d")], factory: metrics).increment(by: 2) }
        Counter(label: "a.count", dimensions: [("b.c", "e")], factory: metrics).increment()
        Meter(label: "active", factory: metrics).increment(by: 3)
        Meter(label: "active", factory: metrics).decrement(by: 1)
        Recorder(label: "size", factory: metrics).record(10)
        Recorder(label: "size", factory: metrics).record(20)
        Gauge(label: "level", factory: metrics).record(1)
        Gauge(label: "level", factory: metrics).record(2)
        Timer(label: "wait", factory: metrics).recordNanoseconds(1_500_000_000)
        #expect(
            metrics.text == """
                # TYPE a_count_total counter
                a_count_total{b_c="d"} 4.0
                a_count_total{b_c="e"} 1.0
                # TYPE active gauge
                active 2.0
                # TYPE level gauge
                level 2.0
                # TYPE size summary
                size_sum 30.0
                size_count 2
                # TYPE wait_seconds summary
                wait_seconds_sum 1.5
                wait_seconds_count 1

                """)
    }

    @Test("the value of a label cannot break its line")
    func escapes() {
        let metrics = PrometheusMetrics()
        Counter(label: "a", dimensions: [("b", "\\ \" \n")], factory: metrics).increment()
        #expect(metrics.text == "# TYPE a_total counter\na_total{b=\"\\\\ \\\" \\n\"} 1.0\n")
    }

    @Test("a destroyed metric has no lines")
    func destroys() {
        let metrics = PrometheusMetrics()
        let counter = Counter(label: "a", factory: metrics), meter = Meter(label: "b", factory: metrics)
        let recorder = Recorder(label: "c", factory: metrics), timer = Timer(label: "d", factory: metrics)
        counter.increment()
        #expect(!metrics.text.isEmpty)
        counter.destroy()
        meter.destroy()
        recorder.destroy()
        timer.destroy()
        #expect(metrics.text.isEmpty)
    }
}
