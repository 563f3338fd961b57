import { createHistogram, type RecordableHistogram } from 'node:perf_hooks';
import { setTimeout as wait } from 'node:timers/promises';
import { Pool } from 'undici';
import { chanceFrom } from '../test/support/chance.ts';
import { spreadOf } from './figures.ts';
import { merge, microseconds, percentileMs, record } from './load.ts';
import { shapeOf } from './scenarios.ts';
import { alignTable, titles } from './table.ts';
import { cpuOf, processesOf, type Target } from './target.ts';

/** The prompts of agents: long conversations, of which each request sends all, and a turn more. */
const loads = [
  { bytes: 20_000, callers: 16 },
  { bytes: 100_000, callers: 16 },
  { bytes: 400_000, callers: 1 },
  { bytes: 400_000, callers: 16 },
  { bytes: 1_600_000, callers: 1 },
] as const;

type Load = (typeof loads)[number];

interface Sample {
  readonly target: Target['name'];
  readonly load: Load;
  readonly perSecond: number;
  /** In microseconds, of the counted answers. */
  readonly firstByte: RecordableHistogram;
  /** Of the gateway for one request; undefined where the system does not say. */
  readonly cpuMs: number | undefined;
}

interface AgentsOptions {
  readonly targets: readonly Target[];
  readonly rounds: number;
  readonly report: (line: string) => void;
}

export interface AgentsRun {
  readonly samples: readonly Sample[];
  readonly failures: Readonly<Record<string, number>>;
}

const leadMs = 1_000;
const countedMs = 4_000;
const turnBytes = 2_000;

/** Puts each load on each target in turn, round by round. */
export async function measureAgents({ targets, rounds, report }: AgentsOptions): Promise<AgentsRun> {
  const samples: Sample[] = [];
  const failures: Record<string, number> = {};
  for (let round = 0; round < rounds; round += 1) {
    report(`round ${round + 1} of ${rounds}`);
    for (const load of loads) {
      for (const target of targets) samples.push(await takeSample(target, { load, round, failures }));
    }
  }
  return { samples, failures };
}

interface TakeOptions {
  readonly load: Load;
  readonly round: number;
  /** Counts answers with another status than 200. */
  readonly failures: Record<string, number>;
}

async function takeSample(target: Target, { load, round, failures }: TakeOptions): Promise<Sample> {
  const { path, headers, body } = target.request(shapeOf.together, false);
  const { model } = JSON.parse(body) as { readonly model: string };
  const pool = new Pool(`http://${target.address.host}:${target.address.port}`, { connections: load.callers });
  const firstByte = createHistogram(microseconds);
  let isCounted = false;
  let isOver = false;
  async function call(number: number): Promise<void> {
    const conversation = openConversation(load.bytes, round * 1_000 + number);
    while (!isOver) {
      const text = JSON.stringify({ model, messages: conversation.next() });
      const sentAt = performance.now();
      const answer = await pool.request({ method: 'POST', path, headers, body: text });
      const ms = performance.now() - sentAt;
      await answer.body.dump();
      const { statusCode } = answer;
      if (statusCode !== 200) failures[`status ${statusCode}`] = (failures[`status ${statusCode}`] ?? 0) + 1;
      else if (isCounted && !isOver) record(firstByte, ms);
    }
  }
  const calls = Array.from({ length: load.callers }, (_, number) => call(number));
  await wait(leadMs);
  const processes = await processesOf(target);
  const before = await cpuOf(processes);
  isCounted = true;
  const beganAt = performance.now();
  await wait(countedMs);
  const after = await cpuOf(processes);
  const seconds = (performance.now() - beganAt) / 1_000;
  isOver = true;
  await Promise.all(calls);
  await pool.close();
  const answers = firstByte.count;
  const usedMs = (['service', 'envoy'] as const).map((part) => (after[part] ?? 0) - (before[part] ?? 0));
  const cpuMs = target.pid === undefined ? undefined : usedMs.reduce((sum, ms) => sum + ms, 0) / Math.max(1, answers);
  return { target: target.name, load, perSecond: answers / seconds, firstByte, cpuMs };
}

interface Message {
  readonly role: 'system' | 'user' | 'assistant';
  readonly content: string;
}

/** A conversation of about so many bytes. Each call has a turn more, and after a tenth of its length another one begins. */
export function openConversation(bytes: number, seed: number): { readonly next: () => readonly Message[] } {
  const chance = chanceFrom(seed);
  const words = (length: number): string => {
    let text = '';
    while (text.length < length) text += `${chance.pick(vocabulary)} `;
    return text;
  };
  const turn = (length: number): readonly Message[] => [
    { role: 'assistant', content: words(length / 4) },
    { role: 'user', content: words((length * 3) / 4) },
  ];
  const begin = (): Message[] => [
    { role: 'system', content: words(turnBytes) },
    ...Array.from({ length: Math.ceil(bytes / (2 * turnBytes)) }, () => turn(2 * turnBytes)).flat(),
  ];
  let messages = begin();
  let grown = 0;
  return {
    next: () => {
      grown += turnBytes;
      if (grown > bytes / 10) {
        messages = begin();
        grown = turnBytes;
      }
      messages.push(...turn(turnBytes));
      return messages;
    },
  };
}

const vocabulary =
  'river stone gate lock flow level bank turn the of and to in model token stream answer request prompt cache'.split(
    ' ',
  );

export function agentsText({ samples }: AgentsRun): string {
  const names = [...new Set(samples.map(({ target }) => target))];
  const rows = loads.flatMap((load) =>
    names.map((name) => {
      const own = samples.filter((sample) => sample.load === load && sample.target === name);
      const all = merge(own.map(({ firstByte }) => firstByte));
      const ms = (percent: number): string => `${percentileMs(all, percent)?.toFixed(1) ?? '–'} ms`;
      const median = (values: readonly number[]): string => spreadOf(values)?.median.toFixed(1) ?? '–';
      const rate = median(own.map(({ perSecond }) => perSecond));
      const cpu = median(own.flatMap(({ cpuMs }) => cpuMs ?? []));
      return [
        `${load.bytes / 1_000} KB, ${load.callers} ${load.callers === 1 ? 'caller' : 'callers'}: ${titles[name]}`,
        ...[`${rate}/s`, ms(50), ms(99), `${cpu} ms`],
      ];
    }),
  );
  return alignTable([['prompts of agents', 'requests', 'first byte p50', 'p99', 'processor time a request'], ...rows]);
}
