import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { chartFolder } from './chart-values.ts';
import { markdownTable } from './markdown-table.ts';

/** One rule of a Role, with the comment above it. */
interface ChartRule {
  readonly namespace: string;
  /** Values without which the chart does not grant it. */
  readonly needs: readonly string[];
  readonly group: string;
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  readonly reason: string;
}

/** What the Roles of the chart allow. The rules are those of the templates, and the reasons are the comments there. */
export function chartRightsTable(): string {
  const rows = ['access.yaml', 'picker.yaml'].flatMap((file) =>
    rulesOf(readFileSync(join(chartFolder, 'templates', file), 'utf8')).map((rule) => [
      file === 'picker.yaml' ? 'picker' : 'service',
      rule.namespace,
      code(rule.needs),
      rule.group === '' ? 'core' : code([rule.group]),
      code(rule.resources),
      rule.verbs.join(', '),
      rule.reason,
    ]),
  );
  return markdownTable(['account', 'namespace', 'only with', 'group', 'resource', 'verbs', 'for'], rows);
}

const code = (names: readonly string[]): string => names.map((name) => `\`${name}\``).join(', ');

/** Without it the chart creates no Role at all, so that it says nothing about single rules. */
const ofAll = 'rbac.create';

const ofCluster = 'all, by a ClusterRole';

/** The rules in a template. `{{- if .Values.x }}` and its `end` are conditions. Throws on a ClusterRole that every release would have. */
export function rulesOf(template: string): readonly ChartRule[] {
  const rules: ChartRule[] = [];
  /** The value of each open `if`; undefined for other actions. */
  const open: (string | undefined)[] = [];
  let namespace = '';
  let inRules = false;
  let comment: readonly string[] = [];
  let lines: readonly string[] = [];
  const finish = (): void => {
    if (lines.length === 0) return;
    const [rule] = parse(lines.join('\n')) as [Readonly<Record<string, readonly string[]>>];
    const { apiGroups = [], resources = [], verbs = [] } = rule;
    const needs = open.filter((name) => name !== undefined).filter((name) => name !== ofAll);
    if (needs.length === 0 && namespace === ofCluster) throw new Error('a ClusterRole in every release');
    rules.push({ namespace, needs, group: apiGroups.join(), resources, verbs, reason: comment.join(' ') });
    [comment, lines] = [[], []];
  };
  for (const line of template.split('\n')) {
    // The beginning of another rule, of a comment, of a condition, or of another object.
    if (/^(?:---| {2}(?:#|-|\{\{)|\{\{)/.test(line)) finish();
    const [, action, value] = /\{\{-? *(if|with|range|end)\b *(?:\.Values\.([\w.]+))?/.exec(line) ?? [];
    if (action === 'end') open.pop();
    else if (action !== undefined) open.push(action === 'if' ? value : undefined);
    else if (line === 'kind: Role') namespace = 'of the release';
    else if (line === 'kind: ClusterRole') namespace = ofCluster;
    else if (line === '  namespace: {{ . }}') namespace = 'each of `accounts.namespaces`';
    else if (/^\w/.test(line)) inRules = line === 'rules:';
    else if (inRules && line.startsWith('  #')) comment = [...comment, line.replace(/^ *# ?/, '')];
    // Names that an operator may list limit a rule, and are not a part of it.
    else if (inRules && /^ {2}(?:-| {2}(?!resourceNames))/.test(line) && !line.includes('{{')) lines = [...lines, line];
  }
  return rules;
}
