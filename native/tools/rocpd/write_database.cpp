#include "rocpd/write_database.h"

#include <sys/utsname.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <optional>
#include <set>

#include "rocpd/database.h"
#include "rocpd/identity.h"
#include "rocpd/kernel_names.h"
#include "rocpd/schema.h"
#include "spool/json.h"

namespace rpd::rocpd {
namespace {

using spool::JsonObject;

constexpr const char* kHipApi = "HIP_RUNTIME_API_EXT";
constexpr const char* kDispatchCategory = "KERNEL_DISPATCH";
constexpr const char* kCopyCategory = "MEMORY_COPY";
constexpr const char* kAllocationCategory = "MEMORY_ALLOCATION";
constexpr const char* kNoData = "{}";

// Since JSON has no infinity, an unknown error is written as a number larger than any counter.
std::string number_text(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", std::min(number, 1e300));
  return text;
}

void replace_all(std::string& text, std::string_view pattern, std::string_view replacement) {
  for (size_t position = text.find(pattern); position != std::string::npos;
       position = text.find(pattern, position + replacement.size()))
    text.replace(position, pattern.size(), replacement);
}

// A string's id is its position in byte order, starting at 1, so the empty string always has id 1.
class Strings {
 public:
  void add(const std::string& text) { ids_.emplace(text, 0); }
  void number() {
    uint64_t next = 0;
    for (auto& [text, id] : ids_) id = ++next;
  }
  uint64_t id(std::string_view text) const { return ids_.find(text)->second; }
  const std::map<std::string, uint64_t, std::less<>>& all() const { return ids_; }

 private:
  std::map<std::string, uint64_t, std::less<>> ids_;
};

class Writer {
 public:
  Writer(const SpoolReader& spool, const TraceMetadata& metadata, uint64_t end_ns, const std::string& path)
      : spool_(spool),
        metadata_(metadata),
        end_ns_(end_ns),
        machine_(this_machine()),
        guid_(guid_of(metadata.process.record, machine_)),
        suffix_("_" + guid_),
        database_(path) {
    std::replace(suffix_.begin(), suffix_.end(), '-', '_');
    for (const TracedAgent& agent : metadata.agents) agents_[agent.record.node_id] = &agent;
  }

  void write() {
    // The file is private until it is renamed, so a journal would serve no purpose.
    database_.run("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA foreign_keys=OFF; BEGIN");
    std::string schema = kSchema;
    replace_all(schema, "{{uuid}}", suffix_);
    replace_all(schema, "{{guid}}", guid_);
    database_.run(schema);
    write_metadata();
    write_strings();
    write_node();
    write_process();
    write_threads();
    write_agents();
    write_queues_and_streams();
    write_code_objects();
    write_kernels();
    write_counter_descriptions();
    write_regions();
    write_dispatches();
    write_copies();
    write_allocations();
    database_.run("COMMIT");
  }

 private:
  // rocprofv3 numbers events kind by kind, and by id within a kind.
  uint64_t event_of_region(uint64_t correlation) const { return correlation; }
  uint64_t event_of_dispatch(uint64_t id) const { return metadata_.last_correlation + id; }
  uint64_t event_of_copy(uint64_t id) const { return event_of_dispatch(metadata_.dispatches.last()) + id; }
  uint64_t event_of_allocation(uint64_t number) const { return event_of_copy(metadata_.copies.last()) + number; }

  std::string table(const char* name) const { return std::string("rocpd_") + name + suffix_; }
  uint32_t pid() const { return metadata_.process.record.pid; }
  uint64_t nid() const { return machine_.node_id; }

  bool is_gpu(uint32_t node) const {
    const auto agent = agents_.find(node);
    return agent != agents_.end() && agent->second->record.gpu != 0;
  }

  std::string copy_name(uint32_t source_node, uint32_t destination_node) const {
    return std::string("MEMORY_COPY_") + (is_gpu(source_node) ? "DEVICE" : "HOST") + "_TO_" +
           (is_gpu(destination_node) ? "DEVICE" : "HOST");
  }

  void write_metadata() {
    Insert insert(database_, table("metadata"), "id, tag, value");
    insert.row(1, "schema_version", "3");
    insert.row(2, "uuid", suffix_);
    insert.row(3, "guid", guid_);
  }

  void write_strings() {
    strings_.add("");
    for (const char* category : {kHipApi, kDispatchCategory, kCopyCategory, kAllocationCategory}) strings_.add(category);
    for (const std::string& function : metadata_.functions) strings_.add(function);
    for (const auto& [source, destination] : metadata_.copy_directions) strings_.add(copy_name(source, destination));
    for (const TracedAgent& agent : metadata_.agents)
      for (const std::string* text : {&agent.name, &agent.model, &agent.vendor, &agent.product}) strings_.add(*text);
    for (const TracedCodeObject& object : metadata_.code_objects) strings_.add(object.uri);
    for (const TracedCounter& counter : metadata_.counters) strings_.add(counter.name);
    for (const TracedKernel& kernel : metadata_.kernels) {
      const KernelNames names = kernel_names(kernel.name);
      for (const std::string* text : {&kernel.name, &names.formatted, &names.demangled, &names.truncated}) strings_.add(*text);
    }
    strings_.number();
    Insert insert(database_, table("string"), "id, string");
    for (const auto& [text, id] : strings_.all()) insert.row(id, text);
  }

  void write_node() {
    utsname name{};
    uname(&name);
    Insert(database_, table("info_node"),
           "id, hash, machine_id, system_name, hostname, release, version, hardware_name, domain_name")
        .row(nid(), machine_.hash, machine_.id, name.sysname, name.nodename, name.release, name.version, name.machine,
             name.domainname);
  }

  std::string process_extdata() const {
    const TracedProcess& process = metadata_.process;
    const auto or_null = [](const std::string& text) { return text.empty() ? "null" : spool::json_string(text); };
    JsonObject ours;
    ours.text("collector", "builtin-tracer").text("version", process.tracer_version).text("timing", process.timing);
    ours.raw("device", or_null(process.device)).raw("timing_parameters", or_null(process.timing_parameters));
    ours.text("dependencies", "exact");
    ours.number("unfinished_dispatches", metadata_.unfinished_dispatches).number("lost_records", metadata_.lost_records);
    ours.number("dispatches_with_counters", metadata_.dispatches_with_counters);
    JsonObject all;
    all.raw("kernel_rename", "false").raw("group_by_queue", "false").raw("rocpd_output", "true");
    return all.raw("rocm_perf_lab", ours.str()).str();
  }

  void write_process() {
    const spool::Process& process = metadata_.process.record;
    Insert(database_, table("info_process"), "id, nid, ppid, pid, init, fini, start, end, command, environment, extdata")
        .row(pid(), nid(), process.ppid, pid(), process.start_ns, end_ns_, process.start_ns, end_ns_, metadata_.process.command,
             metadata_.process.environment, process_extdata());
  }

  void write_threads() {
    Insert insert(database_, table("info_thread"), "id, nid, ppid, pid, tid");
    for (const uint32_t thread : metadata_.threads) insert.row(thread, nid(), metadata_.process.record.ppid, pid(), thread);
  }

  void write_agents() {
    Insert insert(database_, table("info_agent"),
                  "id, nid, pid, type, absolute_index, logical_index, type_index, uuid, name, model_name, "
                  "vendor_name, product_name, user_name, extdata");
    for (const TracedAgent& agent : metadata_.agents) {
      const uint32_t node = agent.record.node_id;
      insert.row(node, nid(), pid(), agent.record.gpu != 0 ? "GPU" : "CPU", node, node, agent.record.type_index,
                 agent.record.device_id, agent.name, agent.model, agent.vendor, agent.product, agent.product, agent.extdata);
    }
  }

  // Queues and streams are named in the order of their first appearance, not by id.
  void write_named(const char* table_name, const char* kind, const std::vector<uint32_t>& appearances) {
    Insert insert(database_, table(table_name), "id, nid, pid, name");
    insert.row(0, nid(), pid(), std::string("Default ") + kind);
    std::set<uint32_t> seen{0};
    int next = 0;
    for (const uint32_t id : appearances)
      if (seen.insert(id).second) insert.row(id, nid(), pid(), std::string(kind) + " " + std::to_string(next++));
  }

  void write_queues_and_streams() {
    write_named("info_queue", "Queue", metadata_.queues_used);
    write_named("info_stream", "Stream", metadata_.streams_used);
  }

  void write_code_objects() {
    Insert insert(database_, table("info_code_object"),
                  "id, nid, pid, agent_id, uri, load_base, load_size, load_delta, extdata");
    for (const TracedCodeObject& object : metadata_.code_objects) {
      const spool::CodeObject& o = object.record;
      JsonObject extdata;
      extdata.number("code_object_id", o.code_object_id);
      extdata.raw("agent_id", JsonObject().number("handle", o.agent_handle).str());
      extdata.text("uri", object.uri).number("load_base", o.load_base).number("load_size", o.load_size);
      extdata.raw("load_delta", std::to_string(o.load_delta)).number("storage_type", o.storage_type);
      extdata.number("memory_base", o.memory_base).number("memory_size", o.memory_size);
      insert.row(o.code_object_id, nid(), pid(), o.node_id, object.uri, o.load_base, o.load_size, o.load_delta, extdata.str());
    }
  }

  void write_kernels() {
    Insert insert(database_, table("info_kernel_symbol"),
                  "id, nid, pid, code_object_id, kernel_name, display_name, kernel_object, kernarg_segment_size, "
                  "kernarg_segment_alignment, group_segment_size, private_segment_size, sgpr_count, "
                  "arch_vgpr_count, accum_vgpr_count, extdata");
    for (const TracedKernel& kernel : metadata_.kernels) {
      const spool::Kernel& k = kernel.record;
      const KernelNames names = kernel_names(kernel.name);
      JsonObject extdata;
      extdata.number("kernel_id", k.kernel_id).number("code_object_id", k.code_object_id);
      extdata.text("kernel_name", kernel.name).number("kernel_object", k.kernel_object);
      extdata.number("kernarg_segment_size", k.kernarg_bytes);
      extdata.number("kernarg_segment_alignment", k.kernarg_alignment);
      extdata.number("group_segment_size", k.group_bytes).number("private_segment_size", k.private_bytes);
      extdata.number("sgpr_count", k.sgprs).number("arch_vgpr_count", k.arch_vgprs);
      extdata.number("accum_vgpr_count", k.accum_vgprs);
      extdata.raw("kernel_code_entry_byte_offset", std::to_string(k.entry_offset));
      extdata.raw("kernel_address",
                  JsonObject().number("handle", k.kernel_object + static_cast<uint64_t>(k.entry_offset)).str());
      extdata.text("formatted_kernel_name", names.formatted).text("demangled_kernel_name", names.demangled);
      extdata.text("truncated_kernel_name", names.truncated);
      insert.row(k.kernel_id, nid(), pid(), k.code_object_id, kernel.name, names.formatted, k.kernel_object, k.kernarg_bytes,
                 k.kernarg_alignment, k.group_bytes, k.private_bytes, k.sgprs, k.arch_vgprs, k.accum_vgprs, extdata.str());
    }
  }

  // One description per counter, for the agent on which it was first collected.
  void write_counter_descriptions() {
    if (!metadata_.counting_node) return;
    const uint32_t node = *metadata_.counting_node;
    Insert insert(database_, table("info_pmc"),
                  "id, nid, pid, agent_id, target_arch, name, symbol, description, component, value_type, block, "
                  "expression, is_constant, is_derived, extdata");
    for (size_t i = 0; i < metadata_.counters.size(); ++i) {
      const TracedCounter& counter = metadata_.counters[i];
      const auto agent = agents_.find(node);
      insert.row(uint64_t{i + 1}, nid(), pid(), node, "GPU", counter.name, counter.name, counter.description, "rocm", "ABS",
                 counter.block, "", 0, 0, agent == agents_.end() ? "{}" : agent->second->extdata);
    }
  }

  void write_regions() {
    Insert events(database_, table("event"), "id, category_id, stack_id, parent_stack_id, correlation_id");
    Insert insert(database_, table("region"), "id, nid, pid, tid, start, end, name_id, event_id");
    const uint64_t category = strings_.id(kHipApi);
    Visitor visitor;
    visitor.region = [&](const TracedRegion& region) {
      const spool::Region& r = region.record;
      const uint64_t event = event_of_region(r.correlation);
      events.row(event, category, r.correlation, r.parent, 0);
      insert.row(r.correlation, nid(), pid(), r.thread, r.start_ns, r.end_ns, strings_.id(region.function), event);
    };
    walk_spool(spool_, visitor);
  }

  // `error`: the error of the duration, as a fraction, if the duration is an estimate.
  std::string dependencies(const std::vector<Edge>& waited_for, double error = 0) const {
    static constexpr const char* kKinds[] = {"queue", "signal", "host"};
    std::vector<std::pair<uint64_t, EdgeKind>> edges;
    for (const Edge& edge : waited_for) {
      if ((edge.is_to_copy() ? metadata_.copies : metadata_.dispatches).contains(edge.id))
        edges.emplace_back(edge.is_to_copy() ? event_of_copy(edge.id) : event_of_dispatch(edge.id), edge.kind);
    }
    std::sort(edges.begin(), edges.end());
    std::string text = "[";
    for (const auto& [event, kind] : edges) {
      text += (text.size() > 1 ? ",[" : "[") + std::to_string(event) + ",\"";
      text += std::string(kKinds[static_cast<int>(kind)]) + "\"]";
    }
    JsonObject object = JsonObject().raw("depends_on", text + "]");
    return (error > 0 ? object.raw("duration_error", number_text(error)) : object).str();
  }

  void write_dispatches() {
    Insert events(database_, table("event"), "id, category_id, stack_id, parent_stack_id, correlation_id, extdata");
    Insert insert(database_, table("kernel_dispatch"),
                  "id, nid, pid, tid, agent_id, kernel_id, dispatch_id, queue_id, stream_id, start, end, "
                  "private_segment_size, group_segment_size, workgroup_size_x, workgroup_size_y, workgroup_size_z, "
                  "grid_size_x, grid_size_y, grid_size_z, region_name_id, event_id");
    Insert counters(database_, table("pmc_event"), "event_id, pmc_id, value, extdata");
    const uint64_t category = strings_.id(kDispatchCategory), no_name = strings_.id("");
    Visitor visitor;
    visitor.dispatch = [&](const TracedDispatch& dispatch) {
      if (!is_writable(dispatch)) return;
      const spool::Dispatch& d = dispatch.record;
      const uint64_t event = event_of_dispatch(d.dispatch_id);
      const uint64_t stack = d.origin.correlation;
      events.row(event, category, stack, stack, 0, dependencies(dispatch.waited_for, dispatch.duration_error));
      insert.row(d.dispatch_id, nid(), pid(), d.origin.thread, metadata_.node_of_queue(d.queue_id), dispatch.kernel_id,
                 d.dispatch_id, d.queue_id, d.origin.stream, dispatch.start_ns, dispatch.end_ns, d.private_bytes, d.group_bytes,
                 d.workgroup[0], d.workgroup[1], d.workgroup[2], d.grid[0], d.grid[1], d.grid[2], no_name, event);
      for (size_t i = 0; i < dispatch.counters.size(); ++i) {
        const bool is_estimate = !dispatch.errors.empty() && !std::isnan(dispatch.errors[i]);
        counters.row(event, uint64_t{i + 1}, dispatch.counters[i],
                     is_estimate ? JsonObject().raw("error", number_text(dispatch.errors[i])).str() : kNoData);
      }
    };
    DependencyTracker dependencies_so_far;
    walk_spool(spool_, visitor, &dependencies_so_far);
  }

  void write_copies() {
    Insert events(database_, table("event"), "id, category_id, stack_id, parent_stack_id, correlation_id, extdata");
    Insert insert(database_, table("memory_copy"),
                  "id, nid, pid, tid, start, end, name_id, dst_agent_id, dst_address, src_agent_id, src_address, "
                  "size, stream_id, event_id");
    if (metadata_.copies.count() == 0) return;
    Visitor visitor;
    visitor.copy = [&](const TracedCopy& copy) {
      const spool::Copy& c = copy.record;
      const uint64_t event = event_of_copy(c.copy_id);
      const uint64_t stack = c.origin.correlation;
      events.row(event, strings_.id(kCopyCategory), stack, stack, 0, dependencies(copy.waited_for));
      insert.row(c.copy_id, nid(), pid(), c.origin.thread, copy.start_ns, copy.end_ns,
                 strings_.id(copy_name(c.source_node, c.destination_node)), c.destination_node, c.destination, c.source_node,
                 c.source, c.size, c.origin.stream, event);
    };
    DependencyTracker dependencies_so_far;
    walk_spool(spool_, visitor, &dependencies_so_far);
  }

  void write_allocations() {
    Insert events(database_, table("event"), "id, category_id, stack_id, parent_stack_id, correlation_id");
    Insert insert(database_, table("memory_allocate"),
                  "nid, pid, tid, agent_id, type, level, start, end, address, size, queue_id, stream_id, event_id");
    uint64_t number = 0;
    Visitor visitor;
    visitor.allocation = [&](const spool::Allocation& a) {
      const uint64_t event = event_of_allocation(++number);
      events.row(event, strings_.id(kAllocationCategory), a.origin.correlation, a.origin.correlation, 0);
      const auto agent = a.size == 0 ? std::nullopt : std::optional<uint32_t>(a.node_id);
      insert.row(nid(), pid(), a.origin.thread, agent, a.size == 0 ? "FREE" : "ALLOC", "REAL", a.start_ns, a.end_ns, a.address,
                 a.size, 0, a.origin.stream, event);
    };
    walk_spool(spool_, visitor);
  }

  const SpoolReader& spool_;
  const TraceMetadata& metadata_;
  const uint64_t end_ns_;
  const Machine machine_;
  const std::string guid_;
  std::string suffix_;
  Database database_;
  Strings strings_;
  std::map<uint32_t, const TracedAgent*> agents_;  // by node
};

}  // namespace

void write_database(const SpoolReader& spool, const TraceMetadata& metadata, uint64_t end_ns, const std::string& path) {
  Writer(spool, metadata, end_ns, path).write();
}

}  // namespace rpd::rocpd
