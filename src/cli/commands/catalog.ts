import type { Command } from 'commander';
import type { CatalogProblem, Snapshot } from '../../core/catalog.ts';
import { readManifests } from '../../manifests/read.ts';
import { type Compilation, compile } from '../../catalog/compile.ts';
import { problemIn, readObject } from '../../catalog/read-object.ts';
import type { SchemaFault } from '../../core/schema-faults.ts';

/** Adds `weir catalog check DIR [--json]`: exit code 1 when there is any problem. */
export function catalogCommand(program: Command): void {
  const catalog = program.command('catalog').description('look after the model catalog');
  catalog
    .command('check')
    .description('check a folder of manifests: every problem by file, line and field')
    .argument('<dir>', 'folder with Backend, Model and Secret manifests (*.yaml, *.yml, *.json)')
    .option('--json', 'print JSON')
    .action(async (dir: string, options: { readonly json?: true }) => {
      const report = await checkManifests(dir, 'followed');
      const { problems } = report;
      const text = options.json ? jsonReport(report) : textReport(report);
      process.stdout.write(`${text}\n`);
      if (problems.length > 0) process.exitCode = 1;
    });
}

/** One line for people: `where: field: message`, without the field when the problem is the whole document. */
export function problemLine({ where, field, message }: CatalogProblem): string {
  return [where, field, message].filter((part) => part !== '').join(': ');
}

/** The catalog of a folder of manifests, with its problems and notes. */
export interface ManifestReport extends Pick<Compilation, 'snapshot' | 'problems'> {
  /** Fields that are right in a cluster and would be a problem for a gateway that serves the folder itself. */
  readonly notes: readonly CatalogProblem[];
}

function textReport({ snapshot, problems, notes }: ManifestReport): string {
  const noteLines = notes.map((note) => `note: ${problemLine(note)}`);
  if (problems.length > 0) {
    return [...problems.map(problemLine), ...noteLines, counted(problems.length, 'problem')].join('\n');
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

interface Counts {
  readonly models: number;
  readonly backends: number;
  readonly routes: number;
}

function counts(snapshot: Snapshot): Counts {
  const routes = [...snapshot.models.values()].reduce((sum, model) => sum + model.routes.length, 0);
  return { models: snapshot.models.size, backends: snapshot.clusters.length, routes };
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/**
 * Reads and compiles a manifest folder once. Never throws; a missing or empty folder is a problem that names it. Services are
 * `followed` where the folder may be meant for `kubectl apply`, and `refused` where a gateway is to serve it.
 */
export async function checkManifests(dir: string, services: 'followed' | 'refused'): Promise<ManifestReport> {
  const { objects, problems } = await readManifests(dir);
  const { snapshot, problems: found } = compile(objects, { services });
  const isEmpty = objects.length + problems.length === 0;
  const empty = {
    where: dir,
    field: '',
    message: 'expected manifests: files ending in .yaml, .yml or .json with objects in them',
  };
  const notes = objects.flatMap((object) => {
    const read = readObject(object);
    const hasService = read.kind === 'Backend' && read.read.value.spec.service !== undefined;
    return hasService ? [problemIn(object, serviceNote)] : [];
  });
  return { snapshot, problems: [...problems, ...found, ...(isEmpty ? [empty] : [])], notes };
}

const serviceNote: SchemaFault = {
  path: ['spec', 'service'],
  message: 'for kubectl apply; a gateway that serves this folder itself (--manifests) cannot follow a Service',
};
