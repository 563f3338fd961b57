import { type LiveCatalog, liveCatalogSchema } from '../../../src/control/core/live-catalog.ts';
import { askService } from './ask-service.ts';

/** The catalog as the service of a gateway lives with it, which the portal shows. */
export async function liveCatalog(gateway: Parameters<typeof askService>[0]): Promise<LiveCatalog> {
  return liveCatalogSchema.parse(await (await askService(gateway))('catalog'));
}
