import type { Command } from 'commander';
import { createEnvoyAdmin } from '../../control/envoy/runtime/admin.ts';
import { openFilesLimit } from '../../process/machine.ts';
import { runFolder } from '../../control/envoy/config/run-folder.ts';
import { finishRequests } from '../local/drain.ts';
import { readEdgeSettings, writeEnvoyFiles } from '../local/envoy-files.ts';
import { settingsHelp } from '../../process/settings/settings-help.ts';
import { envoySettingsSchema, settingsSchema } from '../../process/settings/settings.ts';
import { countOption } from './option-values.ts';
import { readSome } from '../../process/settings/read-settings.ts';
import { print } from '../command-line/print.ts';

/** The heap's share of Envoy's memory. The rest is for threads, code and memory that the allocator has not returned. */
const heapShare = 0.8;

/** Adds `weir envoy`, for places that run Envoy and `weir serve` side by side without `weir start`, such as a pod. */
export function envoyCommand(program: Command): void {
  const group = program.command('envoy').description('start and stop the Envoy alongside `weir serve`');

  group
    .command('bootstrap')
    .description('write Envoy’s bootstrap configuration into the run folder, and print its path')
    .option('--run <dir>', 'folder that Envoy and the service share (default: WEIR_RUN, else .weir/run)')
    .option('--port <n>', 'port for callers', countOption(1), 8080)
    .option('--address <ip>', 'Envoy’s listen address; "::" for IPv6 (default: WEIR_EDGE_HOST, else 0.0.0.0)')
    .option('--ops-port <n>', 'port of /livez, /readyz and /metrics of Envoy itself (default: none)', countOption(1))
    .option(
      '--ext-proc-port <n>',
      'port for another gateway’s Envoy to reach the service (default: none)',
      countOption(1),
    )
    .option('--memory <bytes>', 'Envoy’s memory limit, at least 64 MiB (default: by the machine)', countOption(2 ** 26))
    .addHelpText(
      'after',
      [
        '\nSettings from the environment:\n',
        settingsHelp(envoySettingsSchema.omit({ WEIR_ENVOY_OPS_PORT: true })),
        "\nOpenTelemetry's variables count, too (docs/operate/tracing.md). Connections are kept within `ulimit -Hn`.",
      ].join('\n'),
    )
    .action((options: BootstrapFlags) => {
      const { memory, opsPort, extProcPort, port, address } = options;
      const read = readEdgeSettings(process.env, { defaultHost: '0.0.0.0', openFiles: openFilesLimit() });
      const edge = address === undefined ? read : { ...read, host: address };
      const { files } = writeEnvoyFiles({
        run: runOf(options),
        port,
        edge,
        env: process.env,
        opsPort,
        extProcPort,
        heapBytes: memory === undefined ? undefined : Math.floor(memory * heapShare),
      });
      print(`${files.bootstrapFile}\n`);
    });

  group
    .command('drain')
    .description('make Envoy fail its health checks, and wait until callers’ requests are finished')
    .option('--run <dir>', 'folder that Envoy and the service share (default: WEIR_RUN, else .weir/run)')
    .option('--hold <seconds>', 'first serve as before for this time, so that load balancers notice', seconds, 0)
    .option('--seconds <n>', 'then wait at most this time for open requests', seconds, 600)
    .action(async (options: DrainFlags) => {
      const admin = createEnvoyAdmin(runFolder(runOf(options)));
      const open = await finishRequests(admin, {
        holdMs: options.hold * 1000,
        timeoutMs: options.seconds * 1000,
      });
      admin.close();
      const text = open === 'away' ? 'Envoy is away.' : `${open} open request(s) are left.`;
      print(`${text}\n`);
    });
}

interface BootstrapFlags {
  readonly run?: string;
  readonly port: number;
  readonly address?: string;
  readonly opsPort?: number;
  readonly extProcPort?: number;
  readonly memory?: number;
}

interface DrainFlags {
  readonly run?: string;
  readonly hold: number;
  readonly seconds: number;
}

const seconds = countOption(0);

function runOf({ run }: { readonly run?: string }): string {
  return run ?? readSome(process.env, settingsSchema.pick({ WEIR_RUN: true })).WEIR_RUN;
}
