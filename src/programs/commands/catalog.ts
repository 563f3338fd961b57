import type { Command } from 'commander';
import { stringify } from 'yaml';
import * as z from 'zod';
import { compile } from '../../control/catalog/compile.ts';
import {
  checkManifests,
  checkManifestText,
  type ManifestReport,
  problemLine,
} from '../../control/reconcilers/check-manifests.ts';
import type { Snapshot } from '../../core/catalog.ts';
import { parseJson } from '../../core/json.ts';
import { printableLine } from '../../core/printable.ts';
import { systemClock } from '../../process/clock.ts';
import { type Conversion, convertConfig } from '../../tools/litellm/convert-config.ts';
import { findConfig } from '../../tools/litellm/find-config.ts';
import { print, printError } from '../command-line/print.ts';
import { isStdin, readInput } from '../command-line/read-input.ts';

/** Adds `weir catalog check DIR [--json]`, with exit code 1 when there is any problem, and `weir catalog convert-litellm FILE`. */
export function catalogCommand(program: Command): void {
  const catalog = program.command('catalog').description('manage the model catalog');
  catalog
    .command('check')
    .description('check a folder of manifests: every problem by file, line and field')
    .argument(
      '<dir>',
      'folder with Backend, Model and Secret manifests (*.yaml, *.yml, *.json), or - for standard input',
    )
    .option('--json', 'print JSON')
    .action(async (dir: string, options: { readonly json?: true }) => {
      const report = isStdin(dir)
        ? await checkManifestText(await readInput(dir, { what: 'manifests' }), 'followed')
        : await checkManifests(dir, 'followed');
      const { problems } = report;
      const text = options.json ? jsonReport(report) : textReport(report);
      print(`${text}\n`);
      if (problems.length > 0) process.exitCode = 1;
    });
  catalog
    .command('convert-litellm')
    .description('print the manifests for a LiteLLM config.yaml, and omitted keys on standard error')
    .argument('<file>', 'config.yaml of a LiteLLM proxy, or - for standard input')
    .action(async (file: string) => {
      const today = `${new Date(systemClock.now()).toISOString().slice(0, 10)}T00:00:00Z`;
      const { text } = await readInput(file, { what: 'the config.yaml of a LiteLLM proxy' });
      const { config, around } = findConfig(text);
      const conversion = checked(convertConfig(config, today));
      print(conversion.objects.map((object) => stringify(object)).join('---\n'));
      printError(conversionReport({ ...conversion, leftOut: [...conversion.leftOut, ...around] }));
    });
}

/** Leaves out what `weir catalog check` would refuse, and what nothing is left for. */
function checked(conversion: Conversion): Conversion {
  const secrets = conversion.secrets.map(({ name, key }) => ({
    ...{ apiVersion: 'v1', kind: 'Secret', metadata: { name }, stringData: { [key]: 'x' } },
  }));
  let { objects, leftOut } = conversion;
  for (;;) {
    const asked = objects.map((object, index) => ({ where: String(index), value: parseJson(JSON.stringify(object)) }));
    const around = secrets.map((value) => ({ where: 'Secret', value }));
    const { problems } = compile([...asked, ...around], { pods: 'refused' });
    const bad = new Set(problems.map(({ where }) => where));
    const kept = objects.filter((_, index) => !bad.has(String(index)));
    if (kept.length === objects.length) return { ...conversion, objects, leftOut };
    const lines = problems.map(({ where, field, message }) => ({
      path: nameOf(objects[Number(where)]),
      text: `${field}: ${message}`,
    }));
    leftOut = [...leftOut, ...lines];
    objects = kept;
  }
}

function nameOf(object: unknown): string {
  const { kind, metadata } = named.parse(object);
  return `${kind}/${metadata.name}`;
}

const named = z.object({ kind: z.string(), metadata: z.object({ name: z.string() }) });

/** One line for each thing that the operator has to do or to know, with the path in the configuration. */
function conversionReport({ secrets, assumed, leftOut }: Conversion): string {
  return [
    ...secrets.map(({ name, key }) => `make: Secret ${name} with the entry ${key}`),
    ...assumed.map(({ path, text }) => `check: ${path}: ${text}`),
    ...leftOut.map(({ path, text }) => `left out: ${path}: ${text}`),
  ]
    .map((line) => `${printableLine(line)}\n`)
    .join('');
}

function textReport({ snapshot, problems, notes }: ManifestReport): string {
  const noteLines = notes.map((note) => printableLine(`note: ${problemLine(note)}`));
  if (problems.length > 0) {
    return [
      ...problems.map((problem) => printableLine(problemLine(problem))),
      ...noteLines,
      counted(problems.length, 'problem'),
    ].join('\n');
  }
  const models = [...snapshot.models.values()].map(
    (model) => `${model.id}  ${model.routes.map((route) => route.backend.name).join(', ')}`,
  );
  const { models: modelCount, backends, routes } = counts(snapshot);
  return [
    ...models,
    ...noteLines,
    `${counted(modelCount, 'model')}, ${counted(backends, 'backend')}, ${counted(routes, 'route')}: good`,
  ].join('\n');
}

function jsonReport({ snapshot, problems, notes }: ManifestReport): string {
  return JSON.stringify({ ...counts(snapshot), problems, notes });
}

function counts(snapshot: Snapshot) {
  const routes = [...snapshot.models.values()].reduce((sum, model) => sum + model.routes.length, 0);
  return { models: snapshot.models.size, backends: snapshot.clusters.length, routes };
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
