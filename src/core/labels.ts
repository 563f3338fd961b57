import { maxLabels } from './account.ts';

// Kubernetes has these forms (https://kubernetes.io/docs/concepts/overview/working-with-objects/labels). Its prefixes may be longer.
const nameForm = /^(?=.{1,63}$)([a-z0-9]([a-z0-9.-]*[a-z0-9])?\/)?[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$/;
const valueForm = /^([A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?$/;

export const labelsForm = `at most ${maxLabels} labels such as cost-centre=42, names and values as Kubernetes has them, at most 63 characters each`;

export function areLabels(labels: Readonly<Record<string, string>>): boolean {
  const entries = Object.entries(labels);
  return entries.length <= maxLabels && entries.every(([name, value]) => nameForm.test(name) && valueForm.test(value));
}
