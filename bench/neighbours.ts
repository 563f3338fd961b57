import { type Attack, type AttackedGateway, requestList } from './attacks.ts';
import type { Address } from './caller.ts';
import { chatRequest, expectedOf } from './chat-request.ts';
import { type Load, percentileMs } from './load.ts';
import type { LoadPool } from './load-pool.ts';
import { useNormalPriority } from './normal-priority.ts';
import { weirProcesses } from './over-time.ts';
import { shapeOf } from './scenarios.ts';
import { modelId } from './weir-manifests.ts';
import type { WeirProcess } from './weir-process.ts';

/** What a neighbour sees in one phase. */
interface Phase {
  /** Undefined: no request was answered. */
  readonly p50Ms: number | undefined;
  readonly p99Ms: number | undefined;
  readonly failures: Readonly<Record<string, number>>;
}

const phases = ['before', 'during', 'after'] as const;

/** What a neighbour sees of one attack. */
export interface AttackedNeighbour extends Readonly<Record<(typeof phases)[number], Phase>> {
  readonly attack: string;
  /** What became of the attack. */
  readonly outcome: string;
  /** Programs that ended: the service, the portal. */
  readonly ended: readonly string[];
  /** Whether `weir ledger verify` found no difference. */
  readonly isSound: boolean;
}

interface NeighboursOptions {
  /** Seconds of a phase. */
  readonly seconds: number;
  readonly attacks: readonly Attack[];
  /** Threads of the neighbour, and others of the attacker. */
  readonly pool: LoadPool;
  readonly attackers: LoadPool;
  readonly start: (name: string, env: Readonly<Record<string, string>>) => Promise<WeirProcess>;
  readonly report: (line: string) => void;
}

const leadSeconds = 1;
const perSecond = 50;
const pagesPerSecond = 10;
/** Limit of files of the service in attacks with few: enough for some 370 streams. */
const fewFiles = 1_000;

const environments: Readonly<Record<Attack['files'], Readonly<Record<string, string>>>> = {
  usual: {},
  few: {
    NODE_OPTIONS: `--import=${new URL('./few-files-process.ts', import.meta.url).href}`,
    BENCH_SERVICE_FILES: String(fewFiles),
  },
};

/** One attack after the other, each beside a neighbour that works steadily before, during and after it. */
export async function measureNeighbours(options: NeighboursOptions): Promise<readonly AttackedNeighbour[]> {
  const rows: AttackedNeighbour[] = [];
  for (const files of ['usual', 'few'] as const) {
    const chosen = options.attacks.filter((attack) => attack.files === files);
    if (chosen.length === 0) continue;
    const weir = await options.start(`${files}-files`, environments[files]);
    const gateway = await attackedGateway(weir, options.attackers);
    const loads = await neighbourLoads(weir, gateway);
    const { seconds, pool, report } = options;
    await useNormalPriority((await weirProcesses(weir)).portal).catch((error: unknown) =>
      report(`the portal keeps its low priority: ${String(error)}`),
    );
    // The first requests of a process are slow.
    for (const load of Object.values(loads)) await pool.run({ ...load, leadSeconds: 0, seconds: 3 });
    for (const attack of chosen) {
      report(attack.name);
      const measure = async (): Promise<Phase> => {
        const result = await pool.run({ ...loads[attack.neighbour], leadSeconds, seconds });
        const { duration, failures } = result;
        return { p50Ms: percentileMs(duration, 50), p99Ms: percentileMs(duration, 99), failures };
      };
      const programs = await weirProcesses(weir);
      const before = await measure();
      const end = await attack.begin(gateway, seconds + 2 * leadSeconds);
      const during = await measure();
      const outcome = await end();
      const after = await measure();
      const still = await weirProcesses(weir).catch(() => undefined);
      const ended = [
        ...(still?.service === programs.service ? [] : ['service']),
        ...(String(still?.portal) === String(programs.portal) ? [] : ['portal']),
      ];
      const isSound = await weir.run(['ledger', 'verify']).then(
        (books) => typeof books === 'object' && books !== null && 'ok' in books && books.ok === true,
        () => false,
      );
      rows.push({ ...{ attack: attack.name, outcome, before, during, after }, ended, isSound });
    }
    await weir.stop();
  }
  return rows;
}

const addressOf = ({ hostname: host, port }: URL): Address => ({ host, port: Number(port) });

async function attackedGateway(weir: WeirProcess, pool: LoadPool): Promise<AttackedGateway> {
  const { portal, metrics, baseUrl } = weir;
  if (portal === undefined || metrics === undefined) throw new Error('weir start printed no portal or ops port');
  const keys: string[] = [];
  for (const [name, limits, rates] of [
    ['attacker', [], []],
    ['roomy', ['--max-in-flight', '100000'], ['--rate', '100000', '--burst', '100000']],
  ] as const) {
    await weir.run(['workspace', 'create', name, '--credit', '1000000', ...limits]);
    keys.push(textIn(await weir.run(['key', 'create', '--workspace', name, ...rates]), 'key'));
  }
  const [key = '', roomyKey = ''] = keys;
  const adminToken = new URLSearchParams(portal.hash.slice(1)).get('token') ?? '';
  const setTagBudget = async (tag: string): Promise<number> => {
    const answer = await fetch(new URL('/api/v1/workspaces/attacker/tag-budgets', portal), {
      ...{ method: 'POST', headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' } },
      body: JSON.stringify({ tag, budget: { limit: '1000', period: 'month' } }),
    });
    await answer.arrayBuffer();
    return answer.status;
  };
  return {
    ...{ edge: addressOf(baseUrl), path: baseUrl.pathname.replace(/\/$/, ''), ops: addressOf(metrics) },
    ...{ portal: addressOf(portal), key, roomyKey, token: await tokenFor(weir, 'attacker'), setTagBudget, pool },
  };
}

function textIn(object: unknown, field: string): string {
  const value = typeof object === 'object' && object !== null ? Object.entries(object) : [];
  return String(value.find(([name]) => name === field)?.[1]);
}

/** The token of a script that reads the requests of a workspace. */
async function tokenFor(weir: WeirProcess, workspace: string): Promise<string> {
  const scopes = ['--scopes', 'requests:read', '--workspaces', workspace];
  return textIn(await weir.run(['service-account', 'create', `reader-of-${workspace}`, ...scopes]), 'token');
}

/** A neighbour that chats, and one that reads a page of the portal. */
async function neighbourLoads(
  weir: WeirProcess,
  gateway: AttackedGateway,
): Promise<Readonly<Record<Attack['neighbour'], Omit<Load, 'leadSeconds' | 'seconds'>>>> {
  const token = await tokenFor(weir, 'bench');
  const shape = shapeOf.together;
  return {
    gateway: {
      address: gateway.edge,
      request: chatRequest({ path: gateway.path, model: modelId(shape), stream: false, key: weir.key }),
      expected: expectedOf(shape, false),
      arrival: { kind: 'open', perSecond },
    },
    portal: {
      address: gateway.portal,
      request: requestList(token),
      expected: undefined,
      arrival: { kind: 'open', perSecond: pagesPerSecond },
    },
  };
}

/** As Markdown, for docs/bench.md. */
export function neighboursTable(rows: readonly AttackedNeighbour[]): string {
  const ms = (value: number | undefined): string =>
    value === undefined ? '–' : value.toPrecision(value < 100 ? 2 : 3);
  const ratio = (row: AttackedNeighbour, name: 'p50Ms' | 'p99Ms'): string => {
    const [before, during] = [row.before[name], row.during[name]];
    return before === undefined || during === undefined ? '–' : (during / before).toFixed(1);
  };
  const head = ['attack', 'what became of it', 'p50, ms', 'p99, ms', 'during ÷ before', 'failures', 'ended', 'ledger'];
  const lines = rows.map((row) => [
    ...[row.attack, row.outcome],
    ...(['p50Ms', 'p99Ms'] as const).map((name) => phases.map((phase) => ms(row[phase][name])).join(', ')),
    `${ratio(row, 'p50Ms')}, ${ratio(row, 'p99Ms')}`,
    phases
      .flatMap((phase) => Object.entries(row[phase].failures).map(([why, count]) => `${phase}: ${count} × ${why}`))
      .join(', ') || 'none',
    row.ended.join(', ') || 'none',
    row.isSound ? 'sound' : 'DIFFERENCES',
  ]);
  return [head, head.map(() => '---'), ...lines].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}
