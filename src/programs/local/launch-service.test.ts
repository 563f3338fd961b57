import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { nodeFlags } from './launch-service.ts';

it('the chart starts the service with the same flags', () => {
  const template = readFileSync(new URL('../../../charts/weir/templates/_pod.tpl', import.meta.url), 'utf8');
  expect(template).toContain(`command: [node, ${nodeFlags.join(', ')}, /app/src/main.ts]`);
});
