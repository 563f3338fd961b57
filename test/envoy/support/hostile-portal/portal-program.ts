// The portal as `weir portal` runs it, but for its low priority: on a machine that is busy with other things, the table would be about
// them. `fork`ed with the settings as its environment. Says its port, and ends with its parent.
import pino from 'pino';
import { startPortal } from '../../../../src/programs/portal/running-portal.ts';
import { readPortalSettings } from '../../../../src/process/settings/read-settings.ts';

const level = { current: () => 'info' as const, set: () => undefined };
const portal = await startPortal(readPortalSettings(process.env), { log: pino({ enabled: false }), level });
process.on('disconnect', () => process.exit(0));
process.send?.(portal.port);
