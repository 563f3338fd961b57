import type { BackendListObject, ModelListObject } from '../../../src/portal/api/catalog.ts';
import type { ModelHistoryObject } from '../../../src/portal/api/model-history.ts';
import { withQuery } from './api.ts';
import { useRead } from './calls.ts';

/** How often live data is read again. */
const liveMs = 10_000;
const historyMs = 60_000;

export const useModels = () => useRead<ModelListObject>(['models'], '/models', { refetchInterval: liveMs });

/** The backends of the models. `isLive`: they are read again every ten seconds. */
export const useBackends = ({ isLive }: { readonly isLive: boolean }) =>
  useRead<BackendListObject>(['backends'], '/backends', isLive ? { refetchInterval: liveMs } : {});

/** Prices and speed of a model over time. */
export const useModelHistory = (model: string) =>
  useRead<ModelHistoryObject>(['model-history', model], withQuery('/models/history', { model }), {
    refetchInterval: historyMs,
  });

/** The address of the page of one model. */
export const modelPath = (id: string): string => withQuery('/models', { model: id });
