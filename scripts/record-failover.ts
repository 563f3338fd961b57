// Records docs/pictures/failover.svg, a part of `npm run pictures`: a gateway as `npm start` starts it, with a real Envoy, and
// two engines in processes of their own, of which the one that answers is killed in the middle of its answer.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { OpenAI } from 'openai';
import { z } from 'zod';
import { type SpawnedEngine, spawnProgrammableEngine } from '../test/envoy/support/spawn-programmable-engine.ts';
import { runWeir } from '../test/support/run-weir.ts';
import { start } from '../test/support/start.ts';
import { failoverPicture } from './failover-picture.ts';
import { type FailoverRecording, recordingPath } from './failover-recording.ts';

const model = 'demo/chat';
const question = 'What is a weir?';
/** What both engines say. They have no model. */
const answer =
  'A weir is a low wall across a river. It holds the water back, evens out the flow and lets the rest run over its crest. ' +
  'Upstream the river may rise, fall or lose one of its sources. Below the weir, the mills and the fields get their ' +
  'water as before, and nobody there has to know.';
const killedAfterPieces = 31;

const behaviour = { content: answer, reasoning: 'never', firstTokenDelayMs: 350, tokenDelayMs: 70 } as const;

const manifests = ([a, b]: readonly [SpawnedEngine, SpawnedEngine]): string => `
apiVersion: weir.dev/v1alpha1
kind: Backend
metadata: {name: engine-a}
spec: {engine: vllm, endpoint: {host: 127.0.0.1, port: ${a.port}, path: /v1}}
---
apiVersion: weir.dev/v1alpha1
kind: Backend
metadata: {name: engine-b}
spec: {engine: vllm, endpoint: {host: 127.0.0.1, port: ${b.port}, path: /v1}}
---
apiVersion: weir.dev/v1alpha1
kind: Model
metadata: {name: demo-chat}
spec:
  id: ${model}
  ownedBy: demo
  added: "2026-06-01T00:00:00Z"
  contextLength: 131072
  pricing: {prompt: "0.00000015", completion: "0.0000006"}
  routes:
  - {backend: engine-a, upstreamModel: demo-chat, weight: 1000}
  - {backend: engine-b, upstreamModel: demo-chat, weight: 1}
`;

const recordedRequests = z.array(
  z.object({ body: z.object({ messages: z.array(z.object({ role: z.string(), content: z.string() })) }) }),
);

const billed = z.object({ prompt_tokens: z.int(), completion_tokens: z.int(), cost: z.number() });

/** The text that an engine was asked to go on from. */
async function partialAnswerSentTo(engine: SpawnedEngine): Promise<string> {
  const recorded: unknown = await (await fetch(`http://127.0.0.1:${engine.port}/control/requests`)).json();
  const [only, ...more] = recordedRequests.parse(recorded);
  const last = only?.body.messages.at(-1);
  if (last?.role !== 'assistant' || more.length > 0) throw new Error('engine B got no request to continue, or several');
  return last.content;
}

/** How many of the pieces make up the text. */
function piecesIn(text: string, pieces: FailoverRecording['pieces']): number {
  let length = 0;
  const count = pieces.findIndex((piece) => {
    length += piece.text.length;
    return length === text.length;
  });
  if (count === -1) throw new Error('engine B got a request to continue within a piece of the answer');
  return count + 1;
}

/** What `weir explain` says of a request, in the lines that the picture shows. */
async function explain(id: string, data: string): Promise<Pick<FailoverRecording, 'attempts' | 'bill'>> {
  const { stdout, stderr, code } = await runWeir(['explain', id, '--data', data]);
  if (code !== 0) throw new Error(stderr);
  const lines = stdout.split('\n');
  return {
    attempts: lines.filter((line) => line.startsWith('Attempt ')),
    bill: lines.find((line) => line.startsWith('Bill: ')) ?? '',
  };
}

async function record(): Promise<FailoverRecording> {
  await using stack = new AsyncDisposableStack();
  const folder = mkdtempSync(join(tmpdir(), 'weir-failover-'));
  stack.defer(() => rmSync(folder, { recursive: true, force: true }));
  const a = await spawnProgrammableEngine(behaviour, 'a');
  stack.defer(() => a.close('SIGKILL'));
  const b = await spawnProgrammableEngine(behaviour, 'b');
  stack.defer(() => b.close());
  const catalog = join(folder, 'manifests');
  const data = join(folder, 'data');
  mkdirSync(catalog);
  writeFileSync(join(catalog, 'catalog.yaml'), manifests([a, b]));
  const gateway = await start(['--manifests', catalog], { data, env: { WEIR_OPS_PORT: '0' } });
  stack.defer(async () => void (await gateway.stop()));

  const client = new OpenAI({ baseURL: gateway.baseUrl, apiKey: gateway.key, maxRetries: 0 });
  const ask = () =>
    client.chat.completions.create({
      ...{ model, stream: true, stream_options: { include_usage: true } },
      messages: [{ role: 'user', content: question }],
    });
  // The unbroken answer. After it, neither programs nor connections are new, and the engines forget the prompt.
  let unbroken: unknown;
  for await (const chunk of await ask()) unbroken = chunk.usage ?? unbroken;
  for (const engine of [a, b]) await engine.reset();
  for (const engine of [a, b]) await engine.set(behaviour);

  const startedAt = performance.now();
  const sinceStart = (): number => Math.round(performance.now() - startedAt);
  const pieces: FailoverRecording['pieces'] = [];
  let id = '';
  let usage: unknown;
  let finishReason = '';
  let killedAtMs = 0;
  for await (const chunk of await ask()) {
    const [choice] = chunk.choices;
    id = chunk.id;
    usage = chunk.usage ?? usage;
    finishReason = choice?.finish_reason ?? finishReason;
    const text = choice?.delta.content ?? '';
    if (text === '') continue;
    pieces.push({ atMs: sinceStart(), text });
    if (pieces.length !== killedAfterPieces) continue;
    killedAtMs = sinceStart();
    void a.close('SIGKILL');
  }
  const endedAtMs = sinceStart();
  await a.ended;
  if (pieces.map(({ text }) => text).join('') !== answer) throw new Error('the answer is not the unbroken one');
  const [bill, billOfUnbroken] = [usage, unbroken].map((one) => JSON.stringify(billed.parse(one)));
  if (bill !== billOfUnbroken) throw new Error(`the bill is ${bill}, that of the unbroken answer ${billOfUnbroken}`);
  const fromA = piecesIn(await partialAnswerSentTo(b), pieces);
  return { question, pieces, killedAtMs, fromA, finishReason, endedAtMs, ...(await explain(id, data)) };
}

writeFileSync(recordingPath, `${JSON.stringify(await record(), undefined, 2)}\n`);
writeFileSync(recordingPath.replace('recording.json', 'svg'), failoverPicture());
console.log('docs/pictures/failover.svg');
