import { extension } from './typed.ts';
import type { Json, JsonObject } from './typed.ts';

const heap = 'envoy.resource_monitors.fixed_heap';
const connections = 'envoy.resource_monitors.global_downstream_max_connections';

/**
 * What Envoy gives up first when memory runs short, after its own guide for edge proxies: idle memory, then the streams
 * that hold most, then keep-alive, then new requests, then new connections.
 */
export function overloadManager(limits: { readonly heapBytes: number; readonly maxConnections: number }): JsonObject {
  return {
    refresh_interval: '0.25s',
    resource_monitors: [
      extension(heap, 'envoy.extensions.resource_monitors.fixed_heap.v3.FixedHeapConfig', {
        max_heap_size_bytes: limits.heapBytes,
      }),
      extension(
        connections,
        'envoy.extensions.resource_monitors.downstream_connections.v3.DownstreamConnectionsConfig',
        { max_active_downstream_connections: limits.maxConnections },
      ),
    ],
    // HTTP/2 streams are charged for the bytes Envoy holds for them, in classes that double from 128 KiB to 16 MiB.
    buffer_factory_config: { minimum_account_to_track_power_of_two: 17 },
    actions: [
      action('envoy.overload_actions.shrink_heap', { threshold: { value: 0.85 } }),
      // Always on: the class of 8 MiB and more is reset even when memory is plenty, and each further eighth of the heap
      // in use halves what a stream may hold. It is what bounds an HTTP/2 reader that stops taking one stream.
      action('envoy.overload_actions.reset_high_memory_stream', {
        scaled: { scaling_threshold: 0.001, saturation_threshold: 1 },
      }),
      action('envoy.overload_actions.disable_http_keepalive', { threshold: { value: 0.9 } }),
      action('envoy.overload_actions.stop_accepting_requests', { threshold: { value: 0.95 } }),
      action('envoy.overload_actions.stop_accepting_connections', { threshold: { value: 0.98 } }),
    ],
  };
}

function action(name: string, trigger: { readonly [key: string]: Json }): JsonObject {
  return { name, triggers: [{ name: heap, ...trigger }] };
}
