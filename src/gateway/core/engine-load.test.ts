import { describe, expect, it } from 'vitest';
import { engines } from '../engines/engines.ts';
import { type LoadGauges, readEngineLoad } from './engine-load.ts';

const vllm = `# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="Qwen/Qwen3-8B"} 3.0
vllm:num_requests_running{engine="1",model_name="Qwen/Qwen3-8B"} 4.0
# HELP vllm:num_requests_waiting Number of requests waiting to be processed.
# TYPE vllm:num_requests_waiting gauge
vllm:num_requests_waiting{engine="0",model_name="Qwen/Qwen3-8B"} 0.0
vllm:num_requests_waiting{engine="1",model_name="Qwen/Qwen3-8B"} 12.0
# TYPE vllm:num_requests_waiting_by_reason gauge
vllm:num_requests_waiting_by_reason{engine="0",reason="capacity"} 99.0
vllm:kv_cache_usage_perc{engine="0",model_name="Qwen/Qwen3-8B"} 0.25
`;

const sglang = `sglang:num_running_reqs{engine_type="unified",model_name="a\\"}{, b",pp_rank="0",tp_rank="0"} 5.0
sglang:num_running_reqs{engine_type="unified",model_name="a\\"}{, b",pp_rank="0",tp_rank="1"} 5.0
sglang:num_queue_reqs{engine_type="unified",model_name="a\\"}{, b",pp_rank="0",tp_rank="0"} 2.0
`;

const llamacpp = `# TYPE llamacpp:requests_processing gauge
llamacpp:requests_processing 4
# TYPE llamacpp:requests_deferred gauge
llamacpp:requests_deferred 7
`;

const gaugesOf = (engine: 'vllm' | 'sglang' | 'llamacpp'): LoadGauges =>
  engines[engine].loadGauges ?? expect.fail('the engine reports no load');

const manyParts = Array.from(
  { length: 1100 },
  (_, part) => `vllm:num_requests_waiting{engine="${part + 2}"} 1.0\n`,
).join('');

describe('the load of an engine', () => {
  it.each([
    ['vllm', vllm, { running: 7, waiting: 12 }],
    ['sglang', sglang, { running: 5, waiting: 2 }],
    ['llamacpp', llamacpp, { running: 4, waiting: 7 }],
    ['llamacpp', llamacpp.replaceAll('\n', '\r\n'), { running: 4, waiting: 7 }],
    [
      'llamacpp',
      'llamacpp:requests_processing 1e1 1780000000000\nllamacpp:requests_deferred 0',
      { running: 10, waiting: 0 },
    ],
  ] as const)('is read from the metrics of %s', (engine, metrics, load) => {
    expect(readEngineLoad(gaugesOf(engine), metrics)).toEqual(load);
  });

  it.each([
    ['of another engine', 'vllm', sglang],
    ['without one of the gauges', 'vllm', vllm.replaceAll('waiting{', 'queued{')],
    ['that are cut before a value', 'llamacpp', llamacpp.slice(0, llamacpp.indexOf(' 7'))],
    ['with a value that is no number', 'llamacpp', llamacpp.replace(' 7', ' NaN')],
    ['with a value below zero', 'llamacpp', llamacpp.replace(' 7', ' -7')],
    ['with a value that no engine has', 'llamacpp', llamacpp.replace(' 7', ' 1e300')],
    ['with labels that do not end', 'vllm', vllm.replace('"} 12', ' 12')],
    ['with a line that does not end', 'llamacpp', `${llamacpp}llamacpp:requests_deferred{a="${'x'.repeat(1e6)}`],
    ['with too many lines', 'vllm', vllm + manyParts],
    ['in HTML', 'llamacpp', '<html><pre>llamacpp:requests_processing 4</pre></html>'],
    ['without a line', 'vllm', ''],
  ] as const)('is not known from metrics %s', (_, engine, metrics) => {
    expect(readEngineLoad(gaugesOf(engine), metrics)).toBeUndefined();
  });
});
