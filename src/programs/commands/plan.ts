import type { Command } from 'commander';
import { maxOpenRequests } from '../../gateway/admission/overload.ts';
import { type ExpectedLoad, type Resources, type Size, sizeFor } from '../../tools/sizing/size.ts';
import { countOption } from './option-values.ts';
import { textTable } from './tables.ts';
import { print } from '../command-line/print.ts';

interface PlanFlags extends Omit<ExpectedLoad, 'meanShare'> {
  readonly mean: number;
  readonly json?: true;
}

/** Adds `weir plan`: pods, cores, memory and connections for a load. */
export function planCommand(program: Command): void {
  program
    .command('plan')
    .description('compute pods, cores, connections, memory and disk for a load, from measured costs')
    .requiredOption('--rps <n>', 'requests a second at the peak', countOption(1))
    .requiredOption('--streams <n>', 'concurrent streams', countOption(0))
    .option('--chunks-per-second <n>', 'chunks a second of one stream: about its tokens a second', countOption(1), 30)
    .option('--retention-days <n>', 'retention of single requests', countOption(1), 90)
    .option('--mean <percent>', 'average load, percent of the peak', countOption(1, 100), 30)
    .option('--json', 'print JSON')
    .action(({ json, mean, ...load }: PlanFlags) => {
      const size = sizeFor({ ...load, meanShare: mean / 100 });
      print(`${json ? JSON.stringify(size) : planText(size)}\n`);
    });
}

const reasons: Readonly<Record<Size['limitedBy'], string>> = {
  'event loop': 'by the event loops of the services, with one spare',
  'open streams': `by the open streams, ${maxOpenRequests.toLocaleString('en')} for each service, with one spare`,
  'one spare pod': 'one would do; the other is spare',
};

/** The plan as a table, and as values of the chart. */
export function planText({ pods, service, envoy, limitedBy, postgres, valkey }: Size): string {
  const { connections, diskGb } = postgres;
  const table = textTable(
    ['PART', '#NUMBER', '#CORES EACH', '#MEMORY EACH', 'NOTE'],
    [
      ['service', String(pods), coresText(service.cores), memoryText(service), reasons[limitedBy]],
      ['Envoy', String(pods), coresText(envoy.cores), memoryText(envoy), 'one for each service'],
      ['PostgreSQL', '1', coresText(postgres.cores), '', `${connections} connections, ${diskText(diskGb)}`],
      ['Valkey', '1', coresText(valkey.cores), '', 'one thread; shares the limits of all pods'],
    ],
  );
  return `${table}\n\n${valuesText({ pods, service, envoy })}`;
}

/** Limits of memory are twice the request: bodies that arrive and readers who stop need room. */
function valuesText({ pods, service, envoy }: Pick<Size, 'pods' | 'service' | 'envoy'>): string {
  return [
    '# values of the chart',
    `replicas: ${pods}`,
    ...resourcesText(service, ''),
    'envoy:',
    ...resourcesText(envoy, '  '),
  ].join('\n');
}

function resourcesText(resources: Resources, indent: string): readonly string[] {
  const memory = roundedMib(resources);
  return [
    `${indent}resources:`,
    `${indent}  requests: {cpu: ${Math.max(1, Math.ceil(resources.cores * 20)) * 50}m, memory: ${memory}Mi}`,
    `${indent}  limits: {memory: ${memory * 2}Mi}`,
  ];
}

/** At least what the chart asks for by default. */
const minMib = 256;

function roundedMib({ memoryMib }: Resources): number {
  return Math.max(minMib, Math.ceil(memoryMib / 64) * 64);
}

const coresText = (cores: number): string => cores.toFixed(2);
const memoryText = (resources: Resources): string => `${roundedMib(resources)} MiB`;
const diskText = (gb: number): string => `${gb < 1 ? 'less than 1' : Math.ceil(gb)} GB of single requests`;
