import { useQuery } from '@tanstack/react-query';
import type { BackendListObject, ModelListObject } from '../../../src/portal/api/catalog.ts';
import type { ModelHistoryObject } from '../../../src/portal/api/model-history.ts';
import { call, withQuery } from './api.ts';

/** How often live data is read again. */
const liveMs = 10_000;
const historyMs = 60_000;

export function useModels() {
  return useQuery({ queryKey: ['models'], queryFn: () => call<ModelListObject>('/models'), refetchInterval: liveMs });
}

/** The backends of the models. `isLive`: they are read again every ten seconds. */
export function useBackends({ isLive }: { readonly isLive: boolean }) {
  return useQuery({
    queryKey: ['backends'],
    queryFn: () => call<BackendListObject>('/backends'),
    refetchInterval: isLive ? liveMs : false,
  });
}

/** Prices and speed of a model over time. */
export function useModelHistory(model: string) {
  return useQuery({
    queryKey: ['model-history', model],
    queryFn: () => call<ModelHistoryObject>(withQuery('/models/history', { model })),
    refetchInterval: historyMs,
  });
}

/** The address of the page of one model. */
export const modelPath = (id: string): string => withQuery('/models', { model: id });
