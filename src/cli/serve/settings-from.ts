import { parseArgs } from 'node:util';
import { readSettings, type Settings, settingsSchema } from '../../settings.ts';

const help = (): string =>
  [
    'Usage: weir serve [--data DIR] [--run DIR] [--manifests DIR] [--ops-port N] [--admin-port N]',
    '',
    'Runs the service that Envoy hands its requests to. Each setting is an environment variable; a flag wins over it.',
    '',
    ...Object.entries(settingsSchema.shape).map(([name, schema]) => `  ${name.padEnd(20)} ${schema.description ?? ''}`),
    '',
  ].join('\n');

/** The settings of `weir serve`, its flags before the environment. Undefined when only help was asked for, and was given. Throws as `readSettings`. */
export function settingsFrom(argv: readonly string[]): Settings | undefined {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      data: { type: 'string' },
      run: { type: 'string' },
      manifests: { type: 'string' },
      'ops-port': { type: 'string' },
      'admin-port': { type: 'string' },
      help: { type: 'boolean' },
    },
  });
  if (values.help === true) {
    process.stdout.write(help());
    return undefined;
  }
  const given = {
    WEIR_DATA: values.data,
    WEIR_RUN: values.run,
    WEIR_MANIFESTS: values.manifests,
    WEIR_OPS_PORT: values['ops-port'],
    WEIR_ADMIN_PORT: values['admin-port'],
  };
  const flags = Object.entries(given).filter(([, value]) => value !== undefined);
  return readSettings({ ...process.env, ...Object.fromEntries(flags) });
}
