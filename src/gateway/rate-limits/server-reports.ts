import type { Clock } from '../../core/clock.ts';
import { budgetsOf, type FindFunds, type LimitsAsk, type TokenLimit } from '../../core/limits.ts';
import type { Tallies, TallyChange } from './memory.ts';
import type { ValkeyLink } from './valkey-link.ts';
import { reportScript, takeTokensScript } from './limit-scripts.ts';

/** Reservations that grow are reported this often; requests that end are reported at once. */
const reportEveryMs = 100;

/** A report that the server has not received yet, for one workspace or budget. `left`: the rest of the funds, or empty. */
interface Report {
  readonly left: string;
}

interface ReportServices {
  readonly link: ValkeyLink;
  readonly tallies: Tallies;
  readonly clock: Clock;
  /** Runs a function at the end of this turn of the event loop. */
  readonly nextTurn: (run: () => void) => void;
}

/** What the server knows of this process's tallies, and what it has yet to be told. */
export interface ServerReports extends ReportServices {
  /** Requests under way that the server counts, by workspace. */
  readonly counted: Map<string, number>;
  /** Which workspaces and budgets have to be reported to the server. */
  readonly workspaces: Map<string, Report>;
  readonly budgets: Map<string, Report>;
  /** Budgets of which the server may hold an amount. A key or a tag can get its budget, or lose it, while a request of it is under way. */
  readonly budgetsAtServer: Set<string>;
  /** Tokens to be taken of limits, or given back where below zero, by the ids of the limits. */
  readonly tokens: Map<string, { readonly perMinute: number; readonly tokens: number }>;
  /** Whether the next reports are the first ones under a new name. */
  isNewName: boolean;
  nextReport: 'none' | 'later' | 'soon';
}

export const createServerReports = (services: ReportServices): ServerReports => ({
  ...services,
  counted: new Map(),
  workspaces: new Map(),
  budgets: new Map(),
  budgetsAtServer: new Set(),
  tokens: new Map(),
  isNewName: false,
  nextReport: 'none',
});

/** The tallies of a request have changed. `left`: the funds that are left after a request. */
export function changed(
  reports: ServerReports,
  ask: LimitsAsk,
  { change, left }: { readonly change: TallyChange; readonly left?: FindFunds | undefined },
): void {
  // While the server is down, nothing is reported. When it is up again, everything is reported.
  const { workspaces, budgets, budgetsAtServer } = reports;
  if (!reports.link.isUp()) return;
  const found = left?.();
  const known = found instanceof Promise ? undefined : found;
  owe(workspaces, ask.workspaceId, known?.balance);
  const rests = new Map((known === undefined ? [] : budgetsOf(ask, known)).map(({ id, left: rest }) => [id, rest]));
  for (const { id, left: atFirst } of budgetsOf(ask, ask.funds)) {
    if (atFirst !== undefined || budgetsAtServer.has(id)) owe(budgets, id, rests.get(id));
  }
  scheduleReport(reports, change);
}

/**
 * A request holds other tokens of its limits than before. A server that is down is told when it is up again: a bucket that
 * kept what was never used would refuse its callers for up to an hour.
 */
export function oweTokens(
  reports: ServerReports,
  limits: readonly Pick<TokenLimit, 'id' | 'perMinute'>[] = [],
  { tokens, change = 'released' }: { readonly tokens: number; readonly change?: TallyChange },
): void {
  if (tokens === 0 || limits.length === 0) return;
  for (const { id, perMinute } of limits) {
    reports.tokens.set(id, { perMinute, tokens: (reports.tokens.get(id)?.tokens ?? 0) + tokens });
  }
  if (reports.link.isUp()) scheduleReport(reports, change);
}

function owe(owed: Map<string, Report>, id: string, left: bigint | undefined): void {
  owed.set(id, { left: left === undefined ? (owed.get(id)?.left ?? '') : String(left) });
}

/** Requests that end in the same turn of the event loop are reported together. */
function scheduleReport(reports: ServerReports, change: TallyChange): void {
  if (change === 'released' && reports.nextReport !== 'soon') {
    reports.nextReport = 'soon';
    reports.nextTurn(() => reportNow(reports));
  } else if (reports.nextReport === 'none') {
    reports.nextReport = 'later';
    reports.clock.after(reportEveryMs, () => reportNow(reports));
  }
}

/** Resolves when the server has all reports. Rejects if it may lack some. */
export function report(reports: ServerReports): Promise<unknown> {
  const { link, tallies, workspaces, budgets, counted, budgetsAtServer } = reports;
  reports.nextReport = 'none';
  if (!link.isUp()) return Promise.resolve();
  const sent: Promise<unknown>[] = [];
  const isAnew = reports.isNewName ? '1' : '';
  reports.isNewName = false;
  const send = (hash: string, more: number, reserved: bigint, left: string): void => {
    const reply = link.run(reportScript, [link.key(hash)], [link.name(), String(more), String(reserved), left, isAnew]);
    reply.catch(link.drop);
    sent.push(reply);
  };
  for (const [id, { left }] of workspaces) {
    const { inFlight, reserved } = tallies.ofWorkspace(id);
    send(`ws:${id}`, inFlight - (counted.get(id) ?? 0), reserved, left);
    if (inFlight === 0) counted.delete(id);
    else counted.set(id, inFlight);
  }
  for (const [id, { left }] of budgets) {
    const { reserved } = tallies.ofBudget(id);
    send(id, 0, reserved, left);
    if (reserved === 0n) budgetsAtServer.delete(id);
    else budgetsAtServer.add(id);
  }
  for (const [id, { perMinute, tokens }] of reports.tokens) {
    const reply = link.run(takeTokensScript, [link.key(`tok:${id}`)], [perMinute, tokens].map(String));
    reply.catch(() => {
      link.drop();
      // The server may have done it, and only its reply is lost. In doubt, tokens are given back twice and not taken twice.
      if (tokens < 0) oweTokens(reports, [{ id, perMinute }], { tokens });
    });
    sent.push(reply);
  }
  workspaces.clear();
  budgets.clear();
  reports.tokens.clear();
  return Promise.all(sent);
}

export function reportNow(reports: ServerReports): void {
  report(reports).catch(reports.link.drop);
}

/**
 * Records that the server counts one more request. If it counted under an old name, or too late, the correct number
 * is reported.
 */
export function countAtServer(reports: ServerReports, ask: LimitsAsk, name: string): void {
  const { link, tallies, counted } = reports;
  const { workspaceId: id } = ask;
  if (name === link.name()) counted.set(id, (counted.get(id) ?? 0) + 1);
  if (counted.get(id) !== tallies.ofWorkspace(id).inFlight) changed(reports, ask, { change: 'released' });
}

/** Reports everything to a server that knows nothing of this process. */
export function tellAll(reports: ServerReports): void {
  reports.isNewName = true;
  reports.counted.clear();
  for (const id of reports.tallies.workspaces()) owe(reports.workspaces, id, undefined);
  for (const id of reports.tallies.budgets()) owe(reports.budgets, id, undefined);
  reportNow(reports);
}
