// `npm run clients [-- NAME…]`: installs the newest version of each client, one after the other, lets it talk to Weir in
// front of a programmable engine, and prints what came of it. Ends with 1 when a client fails that could be installed.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { messageOf } from '../../src/core/failure.ts';
import { needPrograms } from '../support/needed-programs.ts';
import { furtherAgents, pinnedAgents } from './agents.ts';
import { type Client, furtherLibraries, pinnedLibraries } from './clients.ts';
import { installNewest } from './install.ts';
import {
  errandOf,
  makeFolders,
  modelNameOf,
  openStage,
  removeFolders,
  runErrand,
  seatAt,
  type Stage,
  talkThrough,
} from './stage.ts';

type Result = 'works' | 'fails' | 'not installed';

interface Row {
  readonly client: Client;
  readonly version: string;
  readonly result: Result;
  /** Why it does not work. */
  readonly why: string;
}

const all: readonly Client[] = [...pinnedAgents, ...furtherAgents, ...pinnedLibraries, ...furtherLibraries];
const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !all.some((client) => client.name === name));
if (unknown.length > 0) throw new Error(`no client is called ${unknown.join(', ')}`);
const chosen = all.filter(({ name }) => wanted.length === 0 || wanted.includes(name));
if (chosen.some(({ registry }) => registry === 'pypi')) await needPrograms('Python');

// What runs is ended in order: after the client whose turn it is.
const interrupted = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interrupted.abort());

const places = new Map(chosen.map((client) => [client, makeFolders()]));

/** What is wrong with what a conversation through a library brought back. */
function troubleIn(said: unknown): string | undefined {
  const { text, streamed, answer } = said as Readonly<Record<string, unknown>>;
  const isThere = typeof text === 'string' && text !== '';
  const isSame = streamed === undefined || streamed === text;
  const hasTool = answer === undefined || (typeof answer === 'string' && answer.includes('It turns at 17:42'));
  return isThere && isSame && hasTool ? undefined : JSON.stringify(said);
}

async function talk(stage: Stage, client: Client, installed: string): Promise<string | undefined> {
  const place = places.get(client) ?? makeFolders();
  const seat = seatAt(stage.weir, { place, model: `test/${modelNameOf(client)}`, installed });
  if (client.kind === 'agent') return runErrand(stage.weir, client, seat);
  return talkThrough(stage.weir, client, seat).then(troubleIn, messageOf);
}

async function attempt(stage: Stage, client: Client): Promise<Row> {
  const folder = mkdtempSync(join(tmpdir(), 'weir-newest-'));
  try {
    const version = await installNewest(client.registry, folder, [client.name, ...(client.others ?? [])]);
    const why = await talk(stage, client, folder);
    return { client, version, result: why === undefined ? 'works' : 'fails', why: why ?? '' };
  } catch (error) {
    return { client, version: '–', result: 'not installed', why: messageOf(error) };
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

const behaviours = [...places].map(([client, place]) => [
  ...[modelNameOf(client), client.kind === 'agent' ? errandOf(client, place) : { words: 12 }],
]);
const stage = await openStage(Object.fromEntries(behaviours));
const rows: Row[] = [];
try {
  for (const client of chosen) {
    if (interrupted.signal.aborted) break;
    const row = await attempt(stage, client);
    rows.push(row);
    console.log(`${client.registry.padEnd(5)} ${client.name.padEnd(32)} ${row.version.padEnd(12)} ${row.result}`);
  }
} finally {
  await stage.close();
  removeFolders();
}
for (const { client, why } of rows.filter((row) => row.why !== '')) {
  console.log(`\n${client.name} (${client.registry}):\n${why.trim().split('\n').slice(-30).join('\n').slice(-4000)}`);
}
const count = (result: Result): number => rows.filter((row) => row.result === result).length;
console.log(`\n${count('works')} work, ${count('fails')} fail, ${count('not installed')} could not be installed`);
process.exitCode = interrupted.signal.aborted || count('fails') > 0 || count('works') === 0 ? 1 : 0;
