#include "session_json.h"

#include "clock.h"
#include "json_text.h"
#include "write_timing.h"

namespace adocd {
namespace {

void AppendProperties(std::string* out, const IntProperties& properties) {
  JsonObjectWriter writer(out);
  for (const auto& [name, value] : properties) writer.Unsigned(name, value);
}

void AppendOptional(JsonObjectWriter* writer, const char* name, const std::optional<uint64_t>& value) {
  value ? writer->Unsigned(name, *value) : writer->Null(name);
}

void AppendCounters(std::string* out, const Sample& sample) {
  JsonObjectWriter writer(out);
  AppendOptional(&writer, "writes", sample.writes.writes);
  AppendOptional(&writer, "written_bytes", sample.writes.written_bytes);
  AppendOptional(&writer, "wal_bytes", sample.writes.wal_bytes);
  AppendOptional(&writer, "stall_micros", sample.writes.stall_micros);
  AppendOptional(&writer, "flushes", sample.jobs.flushes);
  AppendOptional(&writer, "flush_written_bytes", sample.jobs.flush_written_bytes);
  AppendOptional(&writer, "compactions", sample.jobs.compactions);
  AppendOptional(&writer, "compaction_read_bytes", sample.jobs.compaction_read_bytes);
  AppendOptional(&writer, "compaction_written_bytes", sample.jobs.compaction_written_bytes);
}

void AppendStall(std::string* out, const StallTotals& stall) {
  JsonObjectWriter writer(out);
  writer.String("condition", StallConditionName(stall.condition));
  writer.Number("since_monotonic_s", stall.since_s);
  writer.Number("stopped_s", stall.stopped_s);
  writer.Number("delayed_s", stall.delayed_s);
}

void AppendOptions(std::string* out, const Sample& sample) {
  JsonObjectWriter writer(out);
  writer.Raw("database", *sample.database_options_json);
  {
    JsonObjectWriter families(writer.Key("column_families"));
    for (const auto& family : sample.column_families) families.Raw(family.name, *family.options_json);
  }
  if (sample.limiter_bytes_per_s) {
    writer.Integer("rate_limiter_bytes_per_s", *sample.limiter_bytes_per_s);
  } else {
    writer.Null("rate_limiter_bytes_per_s");
  }
  JsonObjectWriter pools(writer.Key("thread_pools"));
  pools.Integer("low", sample.threads_low);
  pools.Integer("high", sample.threads_high);
  pools.Integer("bottom", sample.threads_bottom);
}

void AppendStallCounts(std::string* out, const StallCounts& stalls) {
  JsonObjectWriter counts(out);
  counts.Unsigned("memtable_stops", stalls.memtable_stops);
  counts.Unsigned("memtable_slowdowns", stalls.memtable_slowdowns);
  counts.Unsigned("l0_stops", stalls.l0_stops);
  counts.Unsigned("l0_slowdowns", stalls.l0_slowdowns);
  counts.Unsigned("pending_bytes_stops", stalls.pending_bytes_stops);
  counts.Unsigned("pending_bytes_slowdowns", stalls.pending_bytes_slowdowns);
}

void AppendColumnFamily(std::string* out, const ColumnFamilySample& family) {
  JsonObjectWriter writer(out);
  writer.Unsigned("id", family.id);
  AppendProperties(writer.Key("properties"), family.properties);
  if (!family.cf_stats) {
    writer.Null("stall_counts");
    return writer.Null("level_bytes");
  }
  if (const auto& stalls = family.cf_stats->stall_counts) {
    AppendStallCounts(writer.Key("stall_counts"), *stalls);
  } else {
    writer.Null("stall_counts");
  }
  std::string* levels = writer.Key("level_bytes");
  *levels += '[';
  for (const uint64_t bytes : family.cf_stats->level_bytes) {
    if (levels->back() != '[') *levels += ',';
    *levels += std::to_string(bytes);
  }
  *levels += ']';
}

void AppendHistograms(std::string* out, const Histograms& histograms) {
  JsonObjectWriter writer(out);
  for (const auto& histogram : histograms) {
    JsonObjectWriter totals(writer.Key(histogram.name));
    totals.Unsigned("count", histogram.count);
    totals.Unsigned("sum", histogram.sum);
  }
}

void AppendLatency(std::string* out, const LatencyBuckets& buckets) {
  JsonObjectWriter writer(out);
  writer.Integer("one_in", write_timing::kOneIn);
  writer.Number("slow_s", static_cast<double>(write_timing::kSlowNs) * 1e-9);
  std::string values = "[", counts = "[";
  for (const auto& [value, count] : buckets) {
    if (values.back() != '[') values += ',', counts += ',';
    values += std::to_string(value);
    counts += std::to_string(count);
  }
  writer.Raw("values_ns", values + "]");
  writer.Raw("counts", counts + "]");
}

}  // namespace

void AppendEvent(std::string* out, const Event& event) {
  JsonObjectWriter writer(out);
  writer.Unsigned("sequence", event.sequence);
  writer.Number("monotonic_s", event.monotonic_s);
  writer.String("kind", event.kind);
  if (!event.column_family.empty()) writer.String("column_family", event.column_family);
  if (event.job) writer.Integer("job", *event.job);
  if (event.reason) writer.String("reason", event.reason);
  if (event.bytes) writer.Unsigned("bytes", *event.bytes);
  if (event.read_bytes) writer.Unsigned("read_bytes", *event.read_bytes);
  if (event.written_bytes) writer.Unsigned("written_bytes", *event.written_bytes);
  if (event.base_level) writer.Integer("base_level", *event.base_level);
  if (event.output_level) writer.Integer("output_level", *event.output_level);
  if (event.elapsed_s) writer.Number("elapsed_s", *event.elapsed_s);
  if (event.waiting) writer.Unsigned("waiting", *event.waiting);
  if (event.condition) writer.String("condition", event.condition);
  if (event.previous) writer.String("previous", event.previous);
  if (!event.detail.empty()) writer.String("detail", event.detail);
}

std::string LeaseJson(const Lease& lease, double now_s) {
  std::string out;
  {
    JsonObjectWriter writer(&out);
    writer.String("holder", lease.holder);
    writer.Integer("epoch", lease.epoch);
    writer.Number("ttl_s", lease.ttl_s);
    writer.Number("expires_in_s", std::max(0.0, lease.expires_at_s - now_s));
  }
  return out;
}

std::string RestoreJson(const RestoreStatus& restore) {
  std::string out;
  {
    JsonObjectWriter writer(&out);
    writer.String("state", restore.state);
    writer.Unsigned("steps_left", restore.steps_left);
    restore.waiting_for ? writer.String("waiting_for", *restore.waiting_for) : writer.Null("waiting_for");
    writer.Strings("errors", restore.errors);
  }
  return out;
}

std::string StepsJson(const std::vector<StepResult>& steps) {
  static const char* const kOutcomes[] = {"applied", "unchanged", "error"};
  std::string out = R"({"steps":[)";
  for (const auto& step : steps) {
    if (out.back() != '[') out += ',';
    JsonObjectWriter writer(&out);
    writer.String("outcome", kOutcomes[static_cast<int>(step.outcome)]);
    writer.Number("elapsed_s", step.elapsed_s);
    step.error ? writer.String("error", *step.error) : writer.Null("error");
    writer.Raw("read_back", JsonObject(step.read_back));
  }
  return out + "]}";
}

std::string OriginalsJson(const Session& session) {
  const Control& control = session.control;
  std::string out;
  {
    JsonObjectWriter writer(&out);
    writer.Raw("database", JsonObject(control.OriginalsOf(Scope::kDatabase, "")));
    {
      JsonObjectWriter families(writer.Key("column_families"));
      for (const auto& name : session.column_families->Names()) {
        families.Raw(name, JsonObject(control.OriginalsOf(Scope::kColumnFamily, name)));
      }
    }
    const OptionMap limiter = control.OriginalsOf(Scope::kRateLimiter, "");
    writer.Raw("rate_limiter_bytes_per_s", limiter.empty() ? "null" : limiter.begin()->second);
    JsonObjectWriter pools(writer.Key("thread_pools"));
    for (const char* pool : {"low", "high", "bottom"}) {
      const OptionMap threads = control.OriginalsOf(Scope::kThreadPool, pool);
      if (!threads.empty()) pools.Raw(pool, threads.begin()->second);
    }
  }
  return out;
}

std::string SnapshotJson(const Session& session, const Sample& sample, const std::optional<uint64_t>& events_after) {
  const double now_s = MonotonicSeconds();
  const ControlStatus control = session.control.Status(now_s);
  std::string out;
  out.reserve(4096 + 4096 * sample.column_families.size());
  {
    JsonObjectWriter writer(&out);
    writer.String("database", session.id);
    writer.String("session", session.session_id);
    writer.Unsigned("sequence", sample.sequence);
    writer.Number("monotonic_s", sample.monotonic_s);
    writer.Number("age_s", std::max(0.0, now_s - sample.monotonic_s));
    writer.Number("collect_s", sample.collect_s);
    AppendStall(writer.Key("stall"), sample.stall);
    AppendCounters(writer.Key("counters"), sample);
    AppendProperties(writer.Key("properties"), sample.properties);
    if (sample.tickers) {
      AppendProperties(writer.Key("tickers"), *sample.tickers);
    } else {
      writer.Null("tickers");
    }
    if (sample.histograms) {
      AppendHistograms(writer.Key("histograms"), *sample.histograms);
    } else {
      writer.Null("histograms");
    }
    if (sample.write_latency) {
      AppendLatency(writer.Key("write_latency"), *sample.write_latency);
    } else {
      writer.Null("write_latency");
    }
    AppendOptions(writer.Key("options"), sample);
    {
      JsonObjectWriter families(writer.Key("column_families"));
      for (const auto& family : sample.column_families) AppendColumnFamily(families.Key(family.name), family);
    }
    writer.Raw("lease", control.lease ? LeaseJson(*control.lease, now_s) : "null");
    writer.Raw("restore", RestoreJson(control.restore));
    writer.Bool("change_in_flight", control.change_in_flight);
    if (control.revoked_epoch) {
      writer.Integer("revoked_epoch", control.revoked_epoch);
    } else {
      writer.Null("revoked_epoch");
    }
    uint64_t lost = 0;
    std::string* events = writer.Key("events");
    *events += '[';
    uint64_t last = session.events->last_sequence();
    if (events_after) {
      for (const auto& event : session.events->After(*events_after, &lost)) {
        if (events->back() != '[') *events += ',';
        AppendEvent(events, *event);
        last = std::max(last, event->sequence);
      }
    }
    *events += ']';
    writer.Unsigned("last_event", last);
    writer.Unsigned("lost_events", lost);
  }
  return out;
}

}  // namespace adocd
