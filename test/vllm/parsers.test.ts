/** Other parsers of tools and of reasoning, and none: what the flags of the server change for a caller. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runWeir } from '../support/run-weir.ts';
import { startVllm, type Vllm } from '../support/vllm.ts';
import { askTiny as ask, getWeather, vllmManifests } from '../support/vllm-catalog.ts';
import { startWeir, type Weir } from '../support/weir.ts';

interface Report {
  readonly good: boolean;
  readonly findings: readonly { readonly name: string; readonly found: string; readonly note: string }[];
  readonly capabilities: Readonly<Record<string, unknown>>;
}

/** What `weir engine check` finds. */
async function check(vllm: Vllm): Promise<Report> {
  const { stdout, stderr } = await runWeir(['engine', 'check', vllm.url, '--json']);
  expect(stderr).toBe('');
  return JSON.parse(stdout) as Report;
}
const foundOf = ({ findings }: Report): Readonly<Record<string, string>> =>
  Object.fromEntries(findings.map(({ name, found }) => [name, found]));

const paris = { name: 'get_weather', arguments: { city: 'Paris', days: 3 } };

/** The first call and the reasoning of an answer. */
async function callOf(weir: Weir, ending: 'xml' | 'python', stream: boolean) {
  const request = ask({ max_tokens: 200, tools: [getWeather], reasoning_effort: 'high' }, ending);
  const completions = weir.client().chat.completions;
  const answer = stream ? await completions.stream(request).finalChatCompletion() : await completions.create(request);
  const [choice] = answer.choices;
  const [call] = choice?.message.tool_calls ?? [];
  if (call?.type !== 'function') throw new Error(`expected a call: ${JSON.stringify(choice)}`);
  return {
    finish: choice?.finish_reason,
    call: { name: call.function.name, arguments: JSON.parse(call.function.arguments) as unknown },
  };
}

describe('qwen3_coder for tools, deepseek_r1 for reasoning', () => {
  let vllm: Vllm;
  let weir: Weir;
  beforeAll(async () => {
    vllm = await startVllm({ toolParser: 'qwen3_coder', reasoningParser: 'deepseek_r1' });
    weir = await startWeir({ unlimited: true, manifests: { 'catalog.yaml': vllmManifests([vllm]) } });
  });
  afterAll(async () => {
    await vllm.close();
    await weir.close();
  });

  it.each([false, true])('a call comes whole, stream: %s', async (stream) => {
    expect(await callOf(weir, 'xml', stream)).toEqual({ finish: 'tool_calls', call: paris });
  });
});

describe('pythonic for tools, none for reasoning', () => {
  let vllm: Vllm;
  let weir: Weir;
  beforeAll(async () => {
    vllm = await startVllm({ toolParser: 'pythonic', reasoningParser: 'none' });
    const catalog = vllmManifests([vllm], { capabilities: 'inlineReasoning: {tags: [think]}' });
    weir = await startWeir({ unlimited: true, manifests: { 'catalog.yaml': catalog } });
  });
  afterAll(async () => {
    await vllm.close();
    await weir.close();
  });

  it.each([false, true])('tags in the text are told from it, stream: %s', async (stream) => {
    const request = ask({ max_tokens: 60, reasoning_effort: 'high' }, 'few');
    const completions = weir.client().chat.completions;
    const answer = stream ? await completions.stream(request).finalChatCompletion() : await completions.create(request);
    expect(answer.choices[0]?.message.content?.trim()).toBe('Done.');
  });

  it('a check finds that reasoning stands in the text, and writes the block', async () => {
    const report = await check(vllm);
    expect(foundOf(report)).toMatchObject({ 'whole answer': 'yes', 'reasoning in a field': 'no' });
    expect(report).toMatchObject({ good: false, capabilities: { inlineReasoning: { tags: ['think'] } } });
  });
});

describe('the flags of docs/how-to/vllm.md', () => {
  let vllm: Vllm;
  beforeAll(async () => {
    vllm = await startVllm({
      extra: ['--structured-outputs-config', '{"backend": "xgrammar", "disable_any_whitespace": true}'],
    });
  });
  afterAll(() => vllm.close());

  it('a check finds that all is true', async () => {
    const report = await check(vllm);
    expect(report.findings.filter(({ found }) => found === 'no')).toEqual([]);
    expect(report.good).toBe(true);
    expect(foundOf(report)).toMatchObject({
      ...{ 'running usage': 'yes', 'cached tokens': 'yes', continuation: 'yes', 'reasoning off': 'yes', stop: 'yes' },
      ...{ 'response_format json_schema, streamed': 'yes', 'tool_choice required': 'yes', n: 'yes' },
    });
  });
});
