// One line at the bottom for what went wrong; it goes by itself, or at a click.

const SECONDS = 8;
let timer;

export function tell(message) {
  const place = document.getElementById("notes");
  clearTimeout(timer);
  const note = document.createElement("div");
  note.className = "note";
  note.textContent = message;
  note.addEventListener("click", () => place.replaceChildren());
  place.replaceChildren(note);
  timer = setTimeout(() => place.replaceChildren(), SECONDS * 1000);
}

export async function attempt(work) {
  try {
    return await work();
  } catch (error) {
    tell(error.message);
    return undefined;
  }
}
