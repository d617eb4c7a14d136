# MacroPCA of cellWise: one line "n d k folder" on stdin per fit, one line "ok seconds" or "error ..." back.
# folder/X.bin holds the rows; folder/out.bin gets loadings (d x k, by component), center (d), the fit of
# all cells (n x d, row by row), residuals of cells (n x d) and flags of rows (n), all in the units of the data.
suppressMessages(library(cellWise))
input <- file("stdin", "r")
while (length(line <- readLines(input, n = 1)) > 0) {
  ask <- strsplit(line, " ")[[1]]
  n <- as.integer(ask[1]); d <- as.integer(ask[2]); k <- as.integer(ask[3])
  folder <- paste(ask[-(1:3)], collapse = " ")
  reply <- tryCatch({
    X <- matrix(readBin(file.path(folder, "X.bin"), "double", n * d), n, d, byrow = TRUE)
    X[is.nan(X)] <- NA
    set.seed(0)
    pars <- list(silent = TRUE, kmax = max(10, k), DDCpars = list(silent = TRUE, fastDDC = FALSE))
    time <- system.time(found <- suppressWarnings(MacroPCA(X, k = k, MacroPCApars = pars)))
    P <- found$loadings * found$scaleX
    center <- found$center * found$scaleX
    fitted <- sweep(found$Fullimp$scoresfi %*% t(P), 2, center, "+")
    residuals <- found$stdResid
    residuals[is.na(residuals)] <- 0
    writeBin(c(as.double(P), as.double(center), as.double(t(fitted)), as.double(t(residuals)),
               as.double(found$OD > found$cutoffOD | found$SD > found$cutoffSD)), file.path(folder, "out.bin"))
    paste("ok", time[["elapsed"]])
  }, error = function(e) paste("error", gsub("[[:space:]]+", " ", conditionMessage(e))))
  cat(reply, "\n", sep = "")
  flush(stdout())
}
