"""Parses exports by OpenTelemetry's own definitions, strictly: one request's body for each file.

usage: otlp_check.py traces|metrics FILE...

Prints `spans TRACE SPAN PARENT...` or `metrics NAME...`, and exits with 1 for what is no such
request: an unknown member, a value of another type.
"""

import base64
import sys

from google.protobuf import json_format
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2


def hexadecimal(value):
    # OTLP has ids in hexadecimal where Protocol Buffers' JSON has base64: the digits come back so.
    return base64.b64encode(value).decode().lower()


def main(signal, *paths):
    for path in paths:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        if signal == "traces":
            request = trace_service_pb2.ExportTraceServiceRequest()
        else:
            request = metrics_service_pb2.ExportMetricsServiceRequest()
        json_format.Parse(text, request, ignore_unknown_fields=False)
        if signal == "traces":
            for resource in request.resource_spans:
                for scope in resource.scope_spans:
                    for span in scope.spans:
                        assert span.start_time_unix_nano <= span.end_time_unix_nano
                        ids = [span.trace_id, span.span_id, span.parent_span_id]
                        print("span", *map(hexadecimal, ids))
        else:
            for resource in request.resource_metrics:
                for scope in resource.scope_metrics:
                    for metric in scope.metrics:
                        check(metric)
                        print("metric", metric.name, metric.WhichOneof("data"))


def check(metric):
    kind = metric.WhichOneof("data")
    data = getattr(metric, kind)
    assert data.data_points, metric.name
    for point in data.data_points:
        assert point.time_unix_nano > 0, metric.name
        if kind != "gauge":
            assert 0 < point.start_time_unix_nano <= point.time_unix_nano, metric.name
            assert data.aggregation_temporality == 2, metric.name
        if kind == "histogram":
            assert len(point.bucket_counts) == len(point.explicit_bounds) + 1, metric.name
            assert sum(point.bucket_counts) == point.count, metric.name
            assert list(point.explicit_bounds) == sorted(point.explicit_bounds), metric.name
        else:
            assert point.WhichOneof("value"), metric.name
            if kind == "sum":
                assert data.is_monotonic, metric.name


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except (AssertionError, json_format.ParseError) as error:
        sys.exit(f"{type(error).__name__}: {error}")
