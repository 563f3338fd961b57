import { maxLabels } from './account.ts';

// Kubernetes has these forms (https://kubernetes.io/docs/concepts/overview/working-with-objects/labels). Its prefixes may be longer.
// Go must understand them, too: no look-around.
export const labelForms = {
  maxLength: 63,
  name: /^([a-z0-9]([a-z0-9.-]*[a-z0-9])?\/)?[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$/,
  value: /^([A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?$/,
} as const;

export const labelsForm = `at most ${maxLabels} labels such as cost-centre=42, names and values as Kubernetes has them, at most ${labelForms.maxLength} characters each`;

export function areLabels(labels: Readonly<Record<string, string>>): boolean {
  const entries = Object.entries(labels);
  const { name: ofName, value: ofValue, maxLength } = labelForms;
  const isLabel = ([name, value]: readonly [string, string]): boolean =>
    name.length <= maxLength && ofName.test(name) && ofValue.test(value);
  return entries.length <= maxLabels && entries.every(isLabel);
}
