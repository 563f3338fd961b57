import type { Command } from 'commander';
import { checkManifests, type ManifestReport, problemLine } from '../../control/check-manifests.ts';
import type { Snapshot } from '../../core/catalog.ts';

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
