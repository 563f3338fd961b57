import { expect, it } from 'vitest';
import * as z from 'zod';
import { envoySettingsSchema, portalSettingsSchema, settingsSchema, startSettingsSchema } from './settings.ts';
import { settingsHelp } from './settings-help.ts';

it('lists every setting with its description', () => {
  for (const schema of [settingsSchema, portalSettingsSchema, envoySettingsSchema]) {
    const help = settingsHelp(schema);
    const words = help.replaceAll(/\s+/g, ' ');
    for (const [name, setting] of Object.entries(schema.shape)) {
      expect(help).toMatch(new RegExp(`^  ${name}( |$)`, 'm'));
      expect(words).toContain(setting.description);
    }
  }
});

it.each([
  ['a number with its bounds', settingsSchema, '  WEIR_IDLE_SECONDS   (1 to 86400; default 120)'],
  ['a choice', settingsSchema, '  WEIR_LOG_LEVEL   (debug | info | warn | error; default info)'],
  ['a text', settingsSchema, '  WEIR_ABUSE_CONTACT   (default abuse@example.com)'],
  ['no default', envoySettingsSchema, '  WEIR_TLS_KEY_FILE'],
  ['a list', portalSettingsSchema, '  WEIR_SERVICES   (default http://127.0.0.1:9090/)'],
  ['the ops port of serve', settingsSchema, '  WEIR_OPS_PORT   (0 to 65535; default 9090)'],
])('prints defaults, bounds and choices: %s', (_kind, schema, line) => {
  expect(settingsHelp(schema).split('\n')).toContain(line);
});

it('follows the schema', () => {
  const count = (most: number) => z.object({ N: z.number().min(1).max(most).default(2).describe('A number.') });
  expect(settingsHelp(count(3))).toBe('  N   (1 to 3; default 2)\n    A number.');
  expect(settingsHelp(count(4))).toBe('  N   (1 to 4; default 2)\n    A number.');
});

it('fits a terminal', () => {
  for (const line of settingsHelp(startSettingsSchema.pick({ WEIR_OPS_PORT: true })).split('\n')) {
    expect(line.length).toBeLessThanOrEqual(120);
  }
});
