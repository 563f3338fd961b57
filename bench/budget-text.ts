import { type Budget, type BudgetProfile, type BudgetRow, totalOf } from './budget.ts';
import { alignTable, titles } from './table.ts';
import { threadGroups } from './thread-times.ts';

/** A budget as tables. */
export function budgetText({ rows, profiles }: Budget): string {
  return [timeTable(rows), runsTable(rows), ...profiles.map(profileText)].join('\n\n');
}

const name = ({ unit, callers, target }: BudgetRow): string =>
  `${unit}, ${callers} ${callers === 1 ? 'caller' : 'callers'}, ${titles[target]}`;

function timeTable(rows: readonly BudgetRow[]): string {
  return alignTable([
    ['processor time, µs', 'a second', 'all', ...threadGroups],
    ...rows.map((row) => [
      name(row),
      row.perSecond.toFixed(0),
      totalOf(row.us).toFixed(1),
      ...threadGroups.map((group) => row.us[group].toFixed(1)),
    ]),
  ]);
}

function runsTable(rows: readonly BudgetRow[]): string {
  return alignTable([
    ['runs of a thread', 'all', ...threadGroups],
    ...rows.map((row) => [
      name(row),
      totalOf(row.runs).toFixed(2),
      ...threadGroups.map((group) => row.runs[group].toFixed(2)),
    ]),
  ]);
}

function profileText({ unit, callers, cpu, allocations, answers }: BudgetProfile): string {
  const percent = (share: number): string => `${(share * 100).toFixed(1)} %`;
  const perAnswer = (bytes: number): string => `${(bytes / answers / 1024).toFixed(2)} KiB`;
  return [
    `${unit}, ${callers} callers: the service's main thread, ${perAnswer(allocations.bytes)} allocated for an answer`,
    alignTable([['processor time by stage', 'share'], ...cpu.stages.map((line) => [line.stage, percent(line.share)])]),
    alignTable([
      ['processor time by function itself', 'share', ''],
      ...cpu.lines.map((line) => [line.name, percent(line.share), line.place]),
    ]),
    alignTable([
      ['allocated by stage, for an answer', ''],
      ...allocations.stages.map((line) => [line.stage, perAnswer(line.bytes)]),
    ]),
    alignTable([
      ['allocated by function itself, for an answer', '', ''],
      ...allocations.lines.map((line) => [line.name, perAnswer(line.bytes), line.place]),
    ]),
  ].join('\n\n');
}
