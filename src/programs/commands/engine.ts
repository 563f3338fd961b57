import type { Command } from 'commander';
import { parse, stringify } from 'yaml';
import { z } from 'zod';
import { refusal } from '../../books/core/operator-refusals.ts';
import { capabilities as capabilityFields } from '../../control/catalog/resources/capabilities.ts';
import type { CapabilityOverrides } from '../../core/catalog.ts';
import { type EngineName, engineNames } from '../../core/engine-name.ts';
import { printableLine } from '../../core/printable.ts';
import { didYouMean } from '../../core/near-name.ts';
import { declaredCapabilities } from '../../gateway/engines/engines.ts';
import { declaredContextLength, type EngineModel } from '../../core/model-list.ts';
import { probeUpstream, type ProbedEngine } from '../local/upstream.ts';
import type { Headers } from '../../core/headers.ts';
import type { EngineAddress } from '../../tools/engine-check/ask-engine.ts';
import { checkEngine, type EngineReport, type ReportLine } from '../../tools/engine-check/check-engine.ts';
import { compareEngines, comparisonText, similarityOption } from './compare-engines.ts';
import { nameOption } from './option-values.ts';
import { textTable } from './tables.ts';
import { print, printError } from '../command-line/print.ts';
import { readInput } from '../command-line/read-input.ts';

interface CheckFlags {
  readonly model?: string;
  readonly key?: string;
  readonly engine?: EngineName;
  readonly capabilities?: string;
  readonly embeddings?: true;
  readonly minSimilarity?: number;
  readonly json?: true;
}

/** Adds `weir engine check URL`: exit code 1 when the engine cannot do what is declared of it. */
export function engineCommand(program: Command): void {
  const engine = program.command('engine').description('manage engines');
  engine
    .command('check')
    .description('test an engine’s features, and compare them with Weir’s table')
    .argument('<url>', 'address of the engine, with or without /v1')
    .argument('[others...]', 'with --embeddings: engines whose vectors are compared with those of the first one')
    .option('--model <name>', 'its name for the model; required if it lists several')
    .option('--key <key>', 'key of the engine')
    .option(
      '--engine <kind>',
      `kind of engine, one of ${engineNames.join(', ')}; default: by its answers`,
      nameOption(engineNames),
    )
    .option('--capabilities <file>', 'YAML file with the route’s capabilities in the Model; - for standard input')
    .option('--embeddings', 'compare the vectors of several engines (docs/concepts/same-vectors.md)')
    .option('--min-similarity <cosine>', 'minimum cosine of the same vectors (default: 0.999)', similarityOption)
    .option('--json', 'print JSON')
    .action(async (url: string, others: readonly string[], flags: CheckFlags, command: Command) => {
      if (flags.embeddings === true) {
        await compare([url, ...others], flags);
        return;
      }
      if (others.length > 0) command.error('error: several engines are compared with --embeddings alone');
      const { key, json } = flags;
      const capabilities = flags.capabilities === undefined ? {} : await readCapabilities(flags.capabilities);
      const { signal } = new AbortController();
      const upstream = await probeUpstream(addressOf(url), { key, signal, subject: url, keyFlag: '--key' });
      const kind = flags.engine ?? upstream.engine;
      const entry = entryOf(upstream, flags.model);
      const base = upstream.base.href.replace(/\/+$/, '');
      const contextLength = declaredContextLength(entry);
      const report = await checkEngine(
        { engine: kind, base, model: entry.id, headers: key === undefined ? [] : [['authorization', `Bearer ${key}`]] },
        {
          declared: declaredCapabilities(kind, capabilities),
          contextLength,
          progress: (what) => void (json || printError(`${what} …\n`)),
        },
      );
      const facts = { engine: kind, address: base, model: entry.id, contextLength };
      print(`${json ? jsonReport(facts, report) : textReport(facts, report)}\n`);
      if (!report.isGood) process.exitCode = 1;
    });
}

/** Prints a table of the vectors of engines. Exit code 1 unless all are the same. */
async function compare(urls: readonly string[], flags: CheckFlags): Promise<void> {
  const { json, minSimilarity = usualSimilarity } = flags;
  const addresses: EngineAddress[] = [];
  for (const url of urls) addresses.push(await embeddingAddress(addressOf(url), flags));
  const progress = (what: string): void => void (json || printError(`${what} …\n`));
  const comparison = await compareEngines(addresses, { minSimilarity, progress });
  print(`${json ? JSON.stringify(comparison) : comparisonText(comparison)}\n`);
  if (!comparison.good) process.exitCode = 1;
}

/** The default of `spec.embedding.minSimilarity`. */
const usualSimilarity = 0.999;

/** An engine that is named with its model is not asked for a list of models: text-embeddings-inference has none. */
async function embeddingAddress(url: URL, { key, model, engine }: CheckFlags): Promise<EngineAddress> {
  const headers: Headers = key === undefined ? [] : [['authorization', `Bearer ${key}`]];
  if (engine !== undefined && model !== undefined) {
    const path = url.pathname.replace(/\/+$/, '');
    return { engine, model, headers, base: `${url.origin}${/\/v\d+$/.test(path) ? path : `${path}/v1`}` };
  }
  const { signal } = new AbortController();
  const upstream = await probeUpstream(url, { key, signal, subject: url.href, keyFlag: '--key' });
  const base = upstream.base.href.replace(/\/+$/, '');
  return { engine: engine ?? upstream.engine, model: entryOf(upstream, model).id, headers, base };
}

function addressOf(text: string): URL {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw refusal('engine_malformed', { text });
  }
  return url;
}

/** The block alone, or below the key `capabilities`, as the command prints it. */
const capabilityFile = z.union([z.strictObject({ capabilities: capabilityFields }), capabilityFields]);

async function readCapabilities(path: string): Promise<CapabilityOverrides> {
  const { name, text } = await readInput(path, { what: 'the capabilities of a Model' });
  const read = capabilityFile.safeParse(parse(text));
  if (!read.success) {
    const expected = `${name} holds no capabilities: ${z.prettifyError(read.error)}`;
    throw refusal('field_malformed', { field: '--capabilities', expected });
  }
  // Absent fields are left out of what zod returns.
  const block = 'capabilities' in read.data ? read.data.capabilities : read.data;
  return Object.fromEntries(Object.entries(block).filter(([, value]) => value !== undefined));
}

function entryOf({ entries, base }: ProbedEngine, name: string | undefined): EngineModel {
  const names = entries.map(({ id }) => id);
  const [only] = entries;
  if (name === undefined && entries.length === 1 && only !== undefined) return only;
  const address = base.href;
  const models = names.join(', ');
  if (name === undefined) throw refusal('engine_model_needed', { address, count: names.length, models });
  const entry = entries.find(({ id }) => id === name);
  if (entry === undefined) {
    throw refusal('engine_model_unknown', {
      address,
      model: `${JSON.stringify(name)}${didYouMean(name, names)}`,
      models,
    });
  }
  return entry;
}

interface Facts {
  readonly engine: EngineName;
  readonly address: string;
  readonly model: string;
  readonly contextLength: number | undefined;
}

const answerOf = (value: boolean | undefined): string => (value === undefined ? '–' : value ? 'yes' : 'no');

function textReport(facts: Facts, { lines, capabilities, isGood }: EngineReport): string {
  const rows = lines.map(({ name, declared, verdict, note }) => [name, answerOf(declared), verdict, note]);
  const head = printableLine(
    `${facts.model} on ${facts.engine} at ${facts.address}, context ${facts.contextLength ?? 'not stated'}`,
  );
  const table = textTable(['what', 'declared', 'found', 'note'], rows);
  const last = isGood
    ? ['good: everything that is declared is true, as far as answers show']
    : Object.keys(capabilities).length > 0
      ? [
          'not good. With this in the Model’s route, Weir uses only working features:',
          stringify({ capabilities }, { lineWidth: 0 }).trimEnd(),
        ]
      : ['not good: Weir cannot use this engine'];
  return [head, '', table, '', ...last].join('\n');
}

function jsonReport(facts: Facts, { lines, capabilities, isGood }: EngineReport): string {
  const findings = lines.map(({ name, declared, verdict, note }: ReportLine) => ({
    name,
    declared: declared ?? null,
    found: verdict,
    note,
  }));
  return JSON.stringify({ ...facts, contextLength: facts.contextLength ?? null, good: isGood, findings, capabilities });
}
