// Times and lengths as people say them, in the reader's own language and zone.

const exactFormat = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const dayFormat = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
const yearFormat = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });
const clockFormat = new Intl.DateTimeFormat(undefined, { hour: "numeric", minute: "2-digit" });

export const exact = (moment) => exactFormat.format(new Date(moment));
export const clock = (moment) => clockFormat.format(new Date(moment));

// For lists: the time of today, the day of this year, else the date.
export function brief(moment) {
  const date = new Date(moment);
  const now = new Date();
  if (date.toDateString() === now.toDateString()) return clockFormat.format(date);
  return (date.getFullYear() === now.getFullYear() ? dayFormat : yearFormat).format(date);
}

export function seconds(from, to) {
  return Math.max(0, (new Date(to ?? Date.now()) - new Date(from)) / 1000);
}

export function span(count) {
  if (count < 0.1) return "<0.1 s";
  if (count < 10) return `${count.toFixed(1)} s`;
  if (count < 60) return `${Math.round(count)} s`;
  const minutes = Math.floor(count / 60);
  if (minutes < 60) return `${minutes} min ${Math.round(count % 60)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export const plural = (count, one, many) => `${count} ${count === 1 ? one : many}`;
